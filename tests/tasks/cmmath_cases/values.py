"""Values of each type, one per line: a reference, and answers to it.

``::`` answers that are right, ``!!`` answers that are wrong, ``??`` answers that cannot be
compared; ``;;`` separates them, and ``⏎`` is a line break.
"""

from __future__ import annotations

from tests.tasks.cmmath_cases.case import NO, OPEN, YES, Case

# Inequalities, intervals, unions and exceptions
REGIONS = r"""
x>2 :: x > 2. ;; 2<x ;; (2,+∞) ;; $\left( 2,+\infty \right)$ ;; (2,∞)
x>2 !! x≥2 ;; x<2 ;; x>3 ;; x>-2 ;; y>3
x>2 ?? y>2
x≥2 :: $x\geqslant 2$ ;; [2,+∞)
x≤3 :: (-∞，3]
x<3 :: $\{x\mid x<3\}$
y>-3 :: y>－3
x>0.5 :: x>\frac{1}{2} ;; x>½
x>\sqrt{8} :: x>2\sqrt{2}
m≥-1 :: $m\ge -1$。
x>1,000 :: x>1000
∠A>30° :: ∠ A>30^\circ
BA>3 :: AB>3
>3 :: x>3
2≤a<3 :: $2\le a<3$ ;; 3>a≥2 ;; [2,3) ;; a≥2且a<3
2≤a<3 !! 2<a<3 ;; (2,3] ;; a≥2
x>1,且x<4 :: 1<x<4
x>1，x<4 :: (1,4)
x>1 and x<4 :: 1<x<4
x>1∩x<4 :: 1<x<4
0<x≤5 :: ❴x|0<x≤5❵
-∞<x<3 :: x<3
x>1,x>2 :: x>2
2≤x≤2或x>3 :: x=2或x>3
-4<x<-1或x>0 :: (-4,-1)∪(0,+∞) ;; x>0或-4<x<-1 ;; $\left(-4,-1\right)\cup \left(0,+\infty \right)$
-4<x<-1或x>0 !! -4<x<-1 ;; -4<x≤-1或x>0
x>2 or x<-1 :: x<-1,或x>2 ;; x∈(-∞,-1)∪(2,+∞) ;; ❴x|x<-1或x>2❵ ;; ❴x|x<-1❵∪❴x|x>2❵ ;; x<-1或>2
(-∞,0),(1,+∞) :: (-∞,0)和(1,+∞) ;; (-∞,0)∪(1,+∞)
(1,3)∪(2,5] :: 1<x≤5
(1,2]∪(2,3) :: (1,3)
(1,2)∪[2,3) :: (1,3)
k<-1或k=0 :: k=0或k<-1
(-∞,0)∪❴1❵ :: x<0或x=1
x=±2或x>3 :: x=-2或x=2或x>3
x≠1 :: (-∞,1)∪(1,+∞) ;; x<1或x>1 ;; $\{x\in \mathbf{R}|x\ne 1\}$ ;; x∈R且x≠1
x≠1 !! R ;; x≠-1
x≠±1 :: x≠1且x≠-1 ;; x≠-1,1 ;; x≠1或-1
x≠1,x≠-1 :: x≠1和x≠-1
x>2且x≠3 :: (2,3)∪(3,+∞)
x>2且x≠3 !! x>2
1<x<3,x≠2 :: (1,2)∪(2,3)
x≥-1且x≠0 :: $x\ge -1$ and $x\ne 0$
x≥-1且x≠0 !! x>-1且x≠0
x<1或x>2且x≠0 :: (-∞,0)∪(0,1)∪(2,+∞)
x>0且x≠±1 :: (0,1)∪(1,+∞)
x≥2,x≠1 :: x≥2
R :: x∈R ;; (-∞,+∞)
$\mathbb{R}$ :: 全体实数
x为任意实数 :: all real numbers
x>a :: a<x
x>a !! x≥a ;; x>b
a<x<b :: (a,b)
a<x<b !! a<x<c
x>a且x<b :: a<x<b
x>2a+2 :: x>2(a+1)
x<a或x>a+1 :: x>1+a或x<a
m>n :: n<m
0°<α<90° :: $0^\circ <\alpha <90{}^\circ $ ;; 0<α<90° ;; 0<α<\frac{π}{2} ;; 0<α<90
x>0.33 !! x>\frac{1}{3}
x>1.414 !! x>\sqrt{2}
x>3.1415926535897 !! x>π
(1,2)∪(2,3) !! (1,3)
x=2或x>3 !! x>3
x<0或x>1 !! 0<x<1
x<a或x>b !! x<a或x>c ;; a<x<b
30°<α<60° !! 30°<α<90°
30°<α<60° ?? 30<α<90
1<m<2 ?? 1<n<2
(a,b)∪(c,d) ?? (a,d)∪(c,b)
(1,2)∪(a,b) ?? (1,2)
"""

# Points: order, names, several
POINTS = r"""
(4,0) :: （4，0） ;; $\left( 4,0 \right)$。 ;; ( 4 , 0 ) ;; P(4,0) ;; 点P(4,0) ;; 点P的坐标为(4,0)
(4,0) :: P=(4,0) ;; P: (4,0) ;; point P(4, 0) ;; (x,y)=(4,0)
(4,0) !! (0,4) ;; (-4,0) ;; (4,0)或(-4,0) ;; (±4,0) ;; (4,0,0)
(4,0)或(-4,0) :: (-4,0)或(4,0) ;; (±4,0) ;; (4,0),(-4,0) ;; (4,0)、(-4,0) ;; (4,0)和(-4,0)
(4,0)或(-4,0) :: (4,0) or (-4,0)
(1,2) and (3,4) :: (3,4)与(1,2)
A(1,2),B(3,4) :: B(3,4)、A(1,2) ;; (1,2)，(3,4) ;; $A\left(1,2\right)$，$B(3,4)$.
A(1,2),B(3,4) !! A(3,4),B(1,2)
A(1,2),B(3,4) ?? C(1,2),B(3,4)
A(1,2),(1,2) :: (1,2),A(1,2)
A(1,2),B(1,2) :: (1,2),A(1,2)
P_1(1,2),P_2(3,4) :: P₂(3，4)，P₁(1，2) ;; P(3,4)或P(1,2)
P_1(1,2),P_2(3,4) !! P_1(3,4),P_2(5,6)
P_1(1,2),P_2(3,4) ?? P_1(3,4),P_2(1,2)
A'(1,2) :: A^{\prime}(1,2)
(x,y)=(1/2,1/2) :: (\frac{1}{2},0.5)
(0.5,-1) :: (½,－1)
(\sqrt{8},1) :: (2√2,1)
(1+\sqrt{2},0) :: (\sqrt{2}+1,0)
(\frac{1±\sqrt{5}}{2},0) :: (\frac{1-\sqrt{5}}{2},0),(\frac{1+\sqrt{5}}{2},0)
(1,2,3) :: （1,2,3）
(a,2a+2) :: (a,2(a+1))
(4,π) :: (4,\pi)
\overrightarrow{AB}=(1,2) :: AB=(1,2)
\vec{a}=(1,2) :: (1,2)
(0,0) :: O(0,0)
(-1.50,2) :: (-\frac{3}{2},2)
(cos60°,1) :: (\frac{1}{2},1)
A(1,2),A(1,2) :: A(1,2) ;; (1,2)
A(1,2),A(1,2) !! A(1,2),B(3,4)
(1,2),(3,4),(1,2) :: (3,4),(1,2),(3,4)
(0.5,a+1) :: (\frac{1}{2},a+1),(0.5,1+a)
P_1(1,2),P_1(1,2),P_2(1,2),P_2(1,2) :: P_2(1,2),P_1(1,2)
(1,2),(3,4) !! (1,4),(3,2) ;; (1,2),(3,5)
(1,2),(1,2) !! (1,2),(3,4)
A(1,2),A(3,4) !! A(1,2)
A(1,2) !! B(3,4)
A(1,2) ?? A'(1,2)
(\sqrt{2},1) !! (1.414,1)
(\frac{1}{3},1) !! (0.33,1)
(a,b) !! (b,a)
(a,2a+1) !! (a,2a+2)
(m,n) !! (a,b)
D(1,2) ?? M(1,2)
"""

# Solutions, curves, conditions
EQUATIONS = r"""
x=2 :: x = 2. ;; x_1=2 ;; x_{1}=x_{2}=2 ;; x_1=2,x_2=2
x=2 !! x=3 ;; x=-2 ;; x=±2 ;; y=3
x=2 ?? t=2 ;; x^2=4
x=0.5 :: $x=\frac{1}{2}$
x=4 :: x=2+2=4
x=1,000 :: x=1000
x_1=2,x_2=3 :: x=2或x=3 ;; x=3或2 ;; x=2,3 ;; x₁=3，x₂=2 ;; $x_{1}=2$；$x_{2}=3$。 ;; x1=2, x2=3
x_1=2,x_2=3 :: x=2 or x=3 ;; x = 2 and x = 3
x_1=2,x_2=3 !! x=2 ;; x_1=2,x_2=4 ;; x_1=-2,x_2=-3
t_1=1,t_2=4 :: t=4或t=1
x=±2 :: x=2或x=-2 ;; x_1=-2,x_2=2
x=1±\sqrt{2} :: x_1=1+\sqrt{2},x_2=1-\sqrt{2}
x=\frac{1±\sqrt{5}}{2} :: x=\frac{1-\sqrt{5}}{2}或x=\frac{1+\sqrt{5}}{2}
x=1,y=-1 :: y=-1,x=1 ;; $\begin{cases}x=1\\y=-1\end{cases}$
x=1,y=-1 :: $\left\{\begin{array}{l}x=1\\y=-1\end{array}\right.$ ;; $\left\{ x=1，y=-1 \right\}$
x=1,y=-1 :: x=1且y=-1 ;; x=1⏎y=-1
x=1,y=-1 !! x=-1,y=1 ;; x=1,y=1
a=18,b=12,C=0.015 :: a=18，b=12，C=\frac{3}{200}。
a_1=2,a_2=3 :: a_2=3,a_1=2
a_1=2,a_2=3 ?? a_1=3,a_2=2
x=1,y=2或x=3,y=4 :: x=3,y=4或x=1,y=2 ;; x_1=1,y_1=2;x_2=3,y_2=4 ;; x_1=1,x_2=3,y_1=2,y_2=4
x=1,y=2或x=3,y=4 ?? x=1,y=4或x=3,y=2 ;; x=1,y=2,x=3,x=1,y=4
x=m或x=2m :: x_1=2m,x_2=m
x=m或x=2m !! x=m或x=3m
AB=5 :: BA=5
AB=5 !! AB=6
y=2x+1 :: $y=2x+1$ ;; y=1+2x ;; 2x-y+1=0 ;; 2x+1=y ;; y-1=2x
y=2x+1 !! y=2x-1 ;; y=3 ;; y=2t+1 ;; 2x+y+1=0 ;; x=2y+1
y=2x+1 ?? s=2t+3
y=\frac{1}{2}x :: x=2y ;; x-2y=0
y=x^2-2x+1 :: y=(x-1)^2
y=±2x :: y=2x或y=-2x
y=±2x !! y=2x
y=±\frac{3}{4}x :: 3x-4y=0或3x+4y=0
x+2y-3=0 :: 2x+4y=6 ;; 3-x-2y=0
x+2y-3=0 !! x+2y+3=0
(x-1)^{2}+(y+2)^{2}=9 :: x²+y²-2x+4y-4=0
(x-1)^{2}+(y+2)^{2}=9 !! (x+1)^{2}+(y-2)^{2}=9 ;; (x-1)^{2}+(y+2)^{2}=3
\frac{x^2}{4}+\frac{y^2}{3}=1 :: 3x^2+4y^2=12
\frac{x^2}{4}+\frac{y^2}{3}=1 !! \frac{x^2}{4}-\frac{y^2}{3}=1
y^2=4x :: x=\frac{y^2}{4}
y=\frac{6}{x} :: y=6x^{-1}
y=\frac{6}{x} !! xy=-6 ;; y=\frac{x}{6}
y=\frac{6}{x} :: xy=6
y=2^x :: y-2^x=0
y=ln x+1 :: ln x-y+1=0
ρ=2cosθ :: ρ-2cosθ=0
AC=DF :: DF=AC ;; CA=FD
AC=DF ?? AB=DE
∠B=∠E :: ∠E=∠B
∠B=∠E ?? BC=EF
∠ABC=∠D :: ∠D=∠CBA
AB=2CD :: CD=\frac{1}{2}AB
AB=2CD !! CD=2AB
AC=DF,AB=DE :: DE=AB,AC=DF
AC=DF,AB=DE ?? AC=DF
a^2+b^2=c^2 :: c^2-a^2=b^2
S=\frac{1}{2}ah :: 2S=ah
x=1.41 !! x=\sqrt{2}
a=18,b=12 !! a=12,b=18
x=1,y=2 !! x=2,z=3
y=x^2 !! y^2=x
y=\sqrt{x} !! y^2=x
f(x)=x+1 !! y=x+2
f(x)=x+1 ?? y=x+1
a=1,b=2 ?? a=1,b=2,c=3
x+y=5,x-y=-1 ?? x=2,y=3
a=2b,b=3 ?? a=6,b=3
x=x ?? 2x=2x+1
x=y ?? z+x=x+z
"""

# The same quantity in other units and words
UNITS = r"""
5cm :: 5cm ;; 5 厘米 ;; 5$$\text{ cm}$$ ;; $$5\mathrm{~cm}$$
5cm !! 5cm^{2} ;; 5kg
150cm :: 150(厘米)
3km :: 3千米 ;; 3公里
2\sqrt{3}cm :: 2\sqrt{3}cm
1/2m :: 1/2米
5m :: 5 metres. ;; 5m ;; 5(m)
2里 :: 2里
5ft :: 5 feet
36cm^{2} :: $$36{c}{{{m}}^{2}}$$ ;; 36cm² ;; 36cm2 ;; 36平方厘米 ;; 36 square centimeters
5m^{2} :: 5平米
(\frac{9π}{2}-1)cm^{2} :: (\frac{9π}{2}-1)cm^2
24πdm^{3} :: 24π立方分米
500mL :: 500 ml
5L :: 5升
3公顷 :: 3公顷
10平方单位 :: 10平方单位
6单位 :: 6个单位长度
2.5kg :: 2.5kg ;; 2.5 KG
3斤 :: 3斤
一百两 :: 一百两
三万五千g :: 三万五千克
三kg :: 三千克
5t :: 5 t
15min :: 15分钟
5h :: 5个小时
3月 :: 3个月
12h :: 12h
60km/h :: 60km/h ;; 60千米/时 ;; 60 千米每小时 ;; 每小时60千米 ;; 60 kilometres per hour
60km/h :: 60 km an hour
5m/s :: 5m/s
2m/s^{2} :: 2m/s^2
150分 :: 2小时30分
4830s :: 1小时20分30秒
70° :: 70° ;; 70{}^\circ
70度 :: 70度
(90-α)° :: (90-α)°
twenty-one° :: twenty-one degrees
20°C :: 20℃ ;; 20^{\circ }\mathrm{C}
-3°C :: -3摄氏度
44元 :: 44元 ;; ￥44
2.5万元 :: 2.5万元
十五万元 :: 十五万元
58角 :: 5元8角
5元/kg :: 5元/千克
3.2g/cm^{3} :: 3.2 g/cm³
30人/km^{2} :: 30人/平方千米
12000个 :: 12000个
270人 :: 270人．
25名 :: 25名学生
12个 :: 12个三角形
3.6万人 :: 3.6万人
10人 :: 10 people
2或3cm :: 2或3cm
πm :: π m
2s :: 2s
xcm :: x cm
acm :: acm
1000m :: 1km
\frac{1}{100}m :: 1cm
2.54cm :: 1英寸
5280ft :: 1mile
3ft :: 1yard
500m :: 1里
10尺 :: 1丈
10000cm^{2} :: 1m^{2}
100公顷 :: 1平方千米
15亩 :: 1公顷
1000L :: 1m^{3}
1cm^{3} :: 1mL
1立方分米 :: 1升
1000千克 :: 1吨
500克 :: 1斤
50克 :: 1两
3600秒 :: 1小时
24小时 :: 1天
7天 :: 1周
12月 :: 1年
\frac{5}{18}m/s :: 1km/h
\frac{3}{50}千米/时 :: 1米/分
1000kg/m^{3} :: 1g/cm^{3}
\frac{1}{2}元/斤 :: 1元/千克
10角 :: 1元
10分 :: 1角
100分 :: 1元
10000元 :: 1万元
10000万元 :: 1亿元
60分 :: 1小时
1分钟 :: 1分
60秒 :: 1分
1度 :: 1°
1摄氏度 :: 1度
1千瓦时 :: 1度
1人 :: 1个
1条 :: 1只
1元/件 :: 1元/个
10000人 :: 1万人
1square units :: 1平方单位
5cm^{2} !! 5cm^{3}
5元 !! 5美元
5° !! 5弧度 ;; 5°C
5°C !! 5°F
5月 !! 5天
5km/h !! 5km ;; 5h/km
5元/千克 !! 5元/米
5个 !! 5元
5分 !! 5米
5单位 !! 5cm
"""

# Number words; degrees with minutes
NUMBER_WORDS = r"""
0 :: 零
3 :: 三
10 :: 十
15 :: 十五 ;; 十五。
20 :: 二十
105 :: 一百零五 ;; 壹佰零伍 ;; one hundred and five
120 :: 一百二
2020 :: 两千零二十
2024 :: 二〇二四
100000 :: 十万
10000 :: 1万
15000 :: 1万5千
3500 :: 3.5千
250000000 :: 2.5亿
105000000 :: 一亿零五百万
2.5 :: 二点五 ;; two point five
3.14 :: 三点一四
-3 :: 负三
-3.5 :: 负3.5
\frac{2}{3} :: 三分之二 ;; 3分之2 ;; two thirds
-\frac{1}{2} :: 负二分之一
\frac{3}{1000} :: 千分之三
\frac{1}{10000} :: 万分之一
3\frac{1}{4} :: 三又四分之一 ;; 3又4分之1
1\frac{1}{2} :: 1又1/2 ;; 1又½ ;; one and a half
20% :: 百分之二十 ;; twenty percent ;; 20 percent
2.5% :: 百分之二点五
100% :: 百分之百
50% :: 五成
35% :: 三成五 ;; 三成半
80% :: 八折
85% :: 八五折
\frac{1}{2} :: 一半 ;; half
2 :: two
21 :: Twenty-One
200000 :: two hundred thousand
2500000 :: 2.5 million
-5 :: minus five
-\frac{2}{3} :: negative two thirds
\frac{1}{3} :: one-third
\frac{3}{4} :: three quarters
2\frac{3}{4} :: two and three quarters
2个 :: 两个
256平方米 :: 二百五十六平方米
\frac{2}{3}米 :: 三分之二米
150000元 :: 十五万元
5000000元 :: 5百万元
35000克 :: 三万五千克
1\frac{1}{2}小时 :: 一个半小时
\frac{1}{2} hour :: half an hour
5 cm :: five cm
21 degrees. :: twenty-one degrees.
每小时60千米 :: 每小时六十千米
\frac{121}{4}° :: 30°15' ;; 30度15分 ;; $$30{}^\circ 15'$$
\frac{1513}{50}° :: 30°15′36″ ;; 30度15分36秒 ;; 30°15'36''.
\frac{3}{4}° :: 0°45'
-\frac{21}{2}° :: -10°30'
30° :: 30°0'
\frac{3601}{120}° :: 30°30″
"""

# Right and wrong
TRUTHS = r"""
√ :: √ ;; （√） ;; ✓ ;; ✔ ;; ✅ ;; \checkmark ;; 对 ;; 正确 ;; 是 ;; 是的 ;; 对的 ;; 对了 ;; 真
√ :: 成立 ;; 无误 ;; T ;; true ;; True. ;; yes ;; Correct ;; right ;; “√” ;; 正确。 ;; 是正确的
√ :: 这句话是正确的 ;; 该命题是真命题 ;; 判断正确 ;; 说法正确 ;; 答案：正确 ;; 上述结论成立
√ :: The statement is true. ;; it is correct ;; So the statement is correct ;; √ 正确 ;; 正确(√)
√ :: 答案为“√”
√ !! × ;; ✘ ;; 不正确 ;; 假 ;; false ;; incorrect ;; 这句话是错误的 ;; 错的 ;; 命题为假
√ !! This statement is incorrect. ;; The answer is no
× :: × ;; （×） ;; $$\times$$ ;; ✗ ;; ✘ ;; ❌ ;; 错 ;; 错误 ;; 不正确 ;; 不对 ;; 否 ;; 不是 ;; 假
× :: 不成立 ;; 有误 ;; F ;; false ;; FALSE ;; no ;; No. ;; incorrect ;; wrong ;; not true
× :: 是错误的 ;; 这句话是错误的 ;; 该说法不正确 ;; the statement is false ;; 判断错误 ;; 错的
× :: 这种说法错误 ;; 此说法是不正确的 ;; 假命题 ;; 命题为假 ;; 应填× ;; 判断：×
× :: This statement is incorrect. ;; that's wrong ;; 错误(×) ;; × 错误 ;; The answer is no
"""

# Circled numbers
CIRCLED = r"""
① :: ①
⑳ :: ⑳
①③ :: ,①,③, ;; ①、③ ;; ①和③ ;; ①与③ ;; ①以及③ ;; ①；③ ;; ③① ;; ①③① ;; (①③) ;; {①,③}
①③ :: \textcircled{1}\textcircled{3} ;; ①③正确 ;; ①③ are correct ;; 正确的是①③ ;; 正确的有①③
①③ :: 正确的结论是①③ ;; 正确的说法有①③ ;; 其中正确的结论为：①③ ;; 结论①③
①③④ :: ，①，③，④， ;; ①③④ ;; ①③④． ;; ①③④是正确的 ;; ①, ③ and ④ ;; 正确结论的序号是①③④
①②③ :: ①~③ ;; ①-③ ;; ①至③ ;; ①②③均成立
①②③④ :: ①～④ ;; ①②③④都正确
①②③⑤ :: ①到③,⑤
①②④ :: 所有正确命题的序号为①②④
①② :: 序号①②
"""

# LaTeX and Unicode for the same plain notation
NOTATION = r"""
\frac{4+2\sqrt{3}}{3} π a :: $$\frac{4+2\sqrt{3}}{3} \pi a$$
(-\sqrt{13},0) :: $$\left(-\sqrt{13},0\right)$$
x_{1}=2,x_{2}=3 :: $${{x}_{1}}=2$$，$${{x}_{2}}=3$$
x=1 , y=-1 :: \begin{cases} x=1 \\ y=-1 \end{cases}
cm^{2} :: {c}{{{m}}^{2}} ;; {\rm{cm}}^2
\sqrt{2}+1 :: \sqrt{2}{+}1
\frac{4}{5}, \frac{1}{2}\sqrt{2}, \frac{π}{2} :: \frac45, \frac12\sqrt2, \frac\pi 2
\frac{S}{4^{2018}} :: {S\over{4^{2018}}}
3<x<6 :: 3<{}x<{}6
∠ C=90° :: \angle C={{90}^{{}^\circ }}
45° :: 45{}^\circ
(-∞,-3] :: （－∞，－3］
3.84×10^{5} :: 3.84×10⁵
x_{1}=2 :: x₁＝2
2 × \sqrt{a+b} :: 2 \* √(a+b)
\sqrt{12}=2\sqrt{3} :: √12=2√3
\sqrt[3]{8} :: ∛8
2^{n+1}×x^{10}×x^{-1} :: 2^(n+1)·x^10·x^-1
❴ x|x>2 ❵ :: \left\{ x|x>2 \right\}
❴1,2❵ :: {1,2} ;; \{1,2\}
1,000 :: $1{,}000$
AB :: 𝐀Ｂ
①③ :: \textcircled{1}\textcircled 3
x sin x :: x\sin x
20% :: 20\%
AB∥CD :: AB//CD
x≤3, x>1 :: x<=3, x&gt;1
\frac{1}{2} :: ½
①③④ :: ①③④
abc :: a​b‮c
A'B'C' :: A'B′C^{\prime}
→AB :: \overrightarrow{AB}
3 4 :: $3$$4$
\unknownx :: \unknown{x}
"""

QUESTIONS = {
    "regions": (r"不等式的解集是 $$\underline{}$$ ．", REGIONS),
    "points": (r"点的坐标是 $$\underline{}$$ ．", POINTS),
    "equations": (r"方程的解是 $$\underline{}$$ ．", EQUATIONS),
    "units": (r"它是 $$\underline{}$$ ．", UNITS),
    "number-words": (r"它是 $$\underline{}$$ ．", NUMBER_WORDS),
    "truths": (r"判断：圆有无数条对称轴．（   ）", TRUTHS),
    "circled": (r"其中正确的是 $$\underline{}$$ ．（填序号）", CIRCLED),
    "notation": (r"它是 $$\underline{}$$ ．", NOTATION),
}
MARKS = {"::": YES, "!!": NO, "??": OPEN}


def _cases(kind: str, question: str, table: str) -> list[Case]:
    found = []
    for line in table.strip().split("\n"):
        mark = next(mark for mark in MARKS if f" {mark} " in line)
        reference, answers = line.split(f" {mark} ")
        for answer in answers.split(" ;; "):
            name = f"{kind}-{reference}-{answer}"
            found.append(Case(name, question, reference, answer.replace("⏎", "\n"), MARKS[mark]))
    return found


CASES = [case for kind, row in QUESTIONS.items() for case in _cases(kind, *row)]
