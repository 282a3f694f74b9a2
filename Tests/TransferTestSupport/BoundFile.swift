import Glibc

/// A file that is also to be seen at another place, by a mount; there no more when nobody holds it.
package final class BoundFile: Sendable {
    private let path: String

    /// Mounts it. Where that is not allowed it says so and there is nothing to test with.
    ///
    /// - Parameter path: of another file, which is hidden by it.
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
