"""In which order Kueue should offer clusters to jobs. Pure.

Since version 0.19, the incremental dispatcher of Kueue's MultiKueue nominates clusters in the order
of `MultiKueueConfig.spec.clusters`. The reconciler (`gitops_dsf.reconciler.multikueue`) writes that
list by these rules, and the backtest replays them:

    points    how good each cluster is for the next job
    assumed   load of jobs that the scores do not show yet
    order     which clusters are listed, in which order, and what changed it
"""
