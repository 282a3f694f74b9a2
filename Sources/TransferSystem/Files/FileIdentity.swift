package import Glibc

/// Tells a file from another, and from what it was before, without reading it. Whoever writes to it, or puts another in
/// its place, changes one of these.
package struct FileIdentity: Hashable, Sendable {
    package let inode: UInt64

    /// When its attributes, names or content last changed (st_ctim), in nanoseconds since 1970. Programs cannot set it.
    package let changed: Int64

    /// When its content last changed (st_mtim), in nanoseconds since 1970. A file system whose clock ticks slowly can give
    /// two changes one `changed`; uploads mostly get an old time of modification, which any write then replaces.
    package let modified: Int64

    /// Bytes.
    package let size: UInt64

    package init(inode: UInt64, changed: Int64, modified: Int64, size: UInt64) {
        self.inode = inode
        self.changed = changed
        self.modified = modified
        self.size = size
    }

    package init(_ status: stat) {
        self.init(
            inode: UInt64(status.st_ino), changed: status.st_ctim.wrappedNanoseconds,
            modified: status.st_mtim.wrappedNanoseconds, size: UInt64(clamping: status.st_size))
    }

    /// - Parameter descriptor: of the file, open.
    package init(of descriptor: Int32) throws(SystemError) {
        var status = stat()
        try system("fstat") { fstat(descriptor, &status) }
        self.init(status)
    }
}

extension timespec {
    /// Only to be compared: a client can give its file any time at all, and this one wraps after 292 years.
    fileprivate var wrappedNanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }
}
