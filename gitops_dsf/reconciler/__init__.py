"""What git cannot know, observed on the hub: health, status, freshness, and decisions that Argo CD should look at now.

One module per duty behind `duty.Duty`; duties share nothing but the API client, the mirrors and the metrics.
"""
