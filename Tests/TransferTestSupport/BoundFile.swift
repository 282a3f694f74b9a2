import Glibc

/// A file that a bind mount shows at another path as well, until the object is released.
package final class BoundFile: Sendable {
    private let path: String

    /// Mounts the file. If that is not allowed, prints that the test is skipped, and returns nil.
    ///
    /// - Parameter path: the path of another file, which the mount hides.
    package init?(_ source: String, at path: String, for test: String = #function) {
        guard mount(source, path, nil, UInt(MS_BIND), nil) == 0 else {
            print("skipped \(test): cannot mount a file: \(String(cString: strerror(errno)))")
            return nil
        }
        self.path = path
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }
}
