import Glibc

/// A tmpfs of a given size, unmounted when the object is released.
package final class SmallFileSystem: Sendable {
    package let path: String

    /// Makes the directory and mounts the file system on it. If that is not allowed, prints that the test is skipped,
    /// and returns nil.
    ///
    /// - Parameter size: the size in the syntax of tmpfs(5); 0 for no limit.
    package init?(_ path: String, size: String = "1m", for test: String = #function) {
        guard mkdir(path, 0o755) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0 else {
            print("skipped \(test): cannot mount a file system: \(String(cString: strerror(errno)))")
            return nil
        }
        self.path = path
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }
}
