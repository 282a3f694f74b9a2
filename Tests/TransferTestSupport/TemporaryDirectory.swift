import Glibc
import TransferSystem

/// A new, empty directory that only this user can enter. It is removed with its content when the object is released, or
/// at the latest when the process ends: keep the object until the end of the test.
package final class TemporaryDirectory: Sendable {
    /// A directory could not be made.
    package struct Failure: Error, Equatable, Sendable {
        package let errno: Int32
    }

    /// The absolute path, without a slash at the end.
    package let path: String

    private let companions = Locked([any Sendable]())

    /// An object that lives as long as the directory, made by the first call for its type.
    package func companion<T: Sendable>(_ make: () throws -> T) rethrows -> T {
        try companions.withLock { companions in
            if let found = companions.lazy.compactMap({ $0 as? T }).first { return found }
            let made = try make()
            companions.append(made)
            return made
        }
    }

    /// Makes the directory in `TMPDIR`, or in `/tmp`. Its path is short enough for a Unix-domain socket in it.
    ///
    /// - Parameter prefersMemory: whether to make the directory in `/dev/shm` if possible, for tests that make
    ///   thousands of small files, which takes long on disks.
    package init(prefersMemory: Bool = false) throws(Failure) {
        let usesMemory = prefersMemory && access("/dev/shm", W_OK | X_OK) == 0
        let parent = usesMemory ? "/dev/shm" : getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        // mkdtemp(3) replaces six of this letter at the end by characters that make the name unique.
        let template = strdup("\(parent)/transfer-" + String(repeating: "X", count: 6))
        defer { free(template) }
        guard let template, let made = mkdtemp(template) else { throw Failure(errno: errno) }
        path = String(cString: made)
        Self.present.withLock { [path] in _ = $0.insert(path) }
    }

    deinit {
        Self.remove(path)
        Self.present.withLock { _ = $0.remove(path) }
    }

    /// The directories that exist. A thread that is still running may hold one when all tests have ended.
    private static let present: Locked<Set<String>> = {
        atexit { for path in TemporaryDirectory.present.withLock({ $0 }) { TemporaryDirectory.remove(path) } }
        return Locked([])
    }()

    /// The path of `name` in the directory, whether it exists or not.
    package func path(_ name: String) -> String { path + "/" + name }

    /// Removes a file, or a directory with its content, also if names are not text. Never follows a symbolic link. If a
    /// test has taken the permissions of a directory away, they are restored first.
    package static func remove(_ path: String) {
        remove(Array(path.utf8))
    }

    private static func remove(_ path: [UInt8]) {
        let name = (path + [0]).map { CChar(bitPattern: $0) }
        if unlink(name) == 0 { return }
        chmod(name, 0o700)
        for below in nameBytes(in: name) { remove(path + [UInt8(ascii: "/")] + below) }
        rmdir(name)
    }
}
