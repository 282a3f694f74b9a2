/// How much of the disk uploads may take; nothing sets no limit.
package struct SpaceLimits: Equatable, Sendable {
    /// Bytes of everything below the directory, what is not complete included.
    package var quota: UInt64?

    /// Bytes of the file system that must stay free for whoever else writes to it.
    package var minimumFree: UInt64?

    package init(quota: UInt64? = nil, minimumFree: UInt64? = nil) {
        self.quota = quota
        self.minimumFree = minimumFree
    }
}
