#!/bin/bash
#SBATCH --job-name=rpts
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=32
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail

# Edit these.
MODEL=qwen2_5_vl
MODEL_ARGS=pretrained=Qwen/Qwen2.5-VL-7B-Instruct
TASKS=rpts_eval
JUDGE=openai:gpt-4o-mini
GPUS=8
OUTPUT=$SLURM_SUBMIT_DIR/results/qwen-7b
KEPT=$SLURM_SUBMIT_DIR/judge-cache

# Nodes often have no network: download data and weights before the job.
export HF_HUB_OFFLINE=1
# The judge cache must be on a local disk; it is copied from and to the shared one.
export LMMS_RPTS_CACHE=${TMPDIR:-/tmp}/lmms_rpts-$SLURM_JOB_ID
mkdir -p "$LMMS_RPTS_CACHE" "$KEPT" "$OUTPUT"
cp -a "$KEPT/." "$LMMS_RPTS_CACHE/"
trap 'cp -a "$LMMS_RPTS_CACHE/." "$KEPT/"' EXIT

# SLURM sends TERM two minutes before the limit: end the stage, then save the cache.
child=
trap 'kill "$child" 2>/dev/null || true; wait "$child" || true; exit 143' TERM
stage() {
  "$@" &
  child=$!
  wait "$child"
}

# 1. Generate on all nodes, without a judge. A resubmitted job skips this stage if it is done.
HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MODEL MODEL_ARGS TASKS GPUS OUTPUT HEAD
if [ -z "$(find "$OUTPUT" -path '*generated*' -name '*_results.json')" ]; then
  # shellcheck disable=SC2016  # the variables are expanded on each node
  stage env LMMS_RPTS_JUDGE=none srun bash -c '
    exec torchrun --nnodes "$SLURM_NNODES" --node_rank "$SLURM_NODEID" --nproc_per_node "$GPUS" \
      --master_addr "$HEAD" --master_port 29500 -m lmms_eval \
      --model "$MODEL" --model_args "$MODEL_ARGS" --tasks "$TASKS" --batch_size 1 \
      --use_cache "$OUTPUT/responses" --log_samples --output_path "$OUTPUT/generated"'
fi

# 2. Judge in one process; it needs the network or a judge server, and no GPU.
stage lmms-rpts score "$OUTPUT/generated" --judge "$JUDGE" -o "$OUTPUT/scored"
