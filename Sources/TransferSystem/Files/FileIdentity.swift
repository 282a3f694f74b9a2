package import Glibc

/// Distinguishes a file from others, and from its earlier states, without reading it: writing to it or replacing it
/// changes one of these values.
package struct FileIdentity: Hashable, Sendable {
    package let inode: UInt64

    /// Time of the last change of attributes, names or content (st_ctim), in nanoseconds since 1970. Programs cannot
    /// set it.
    package let changed: Int64

    /// Time of the last change of content (st_mtim), in nanoseconds since 1970. On a file system with a coarse clock,
    /// two changes can have the same `changed`. This time then shows the difference, because uploads mostly get an old
    /// time of modification, which any later write replaces.
    package let modified: Int64

    /// Size of the file in bytes.
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

    /// - Parameter descriptor: an open descriptor of the file.
    package init(of descriptor: Int32) throws(SystemError) {
        var status = stat()
        try system("fstat") { fstat(descriptor, &status) }
        self.init(status)
    }
}

extension timespec {
    /// Only to be compared: a client can set any time, and this number wraps around after 292 years.
    fileprivate var wrappedNanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }
}
