import TransferModel

extension SettlingFiles {
    /// A file that may have to be sent.
    struct Candidate {
        enum Stage: Equatable { case settling, ready, sending, resting }

        var stage = Stage.settling
        var look: Look
        /// When it was first seen like this.
        var since: MonotonicTime
        var firstSeen: MonotonicTime
        var quiet: Interval
        /// How often it was seen to change.
        var changes = 0
        var isTold = false
        var failures = 0
        var lastFailure: ResultCode?
        /// Whether it has changed since it is being sent.
        var isStale = false
        /// Whether a writer has closed it since it is being sent.
        var isClosed = false
        /// That of its latest element in a heap.
        var mark: UInt64 = 0
    }
}
