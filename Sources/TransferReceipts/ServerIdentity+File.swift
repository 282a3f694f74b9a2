internal import CLinux
import Glibc
import TransferProtocol
import TransferSystem

extension ServerIdentity {
    /// Why there is no identity to start with.
    package struct Fault: Error, Equatable, Sendable {
        /// A sentence that says what to do.
        package let message: String
    }

    /// The name of the file in the server's own folder.
    package static let fileName = "identity.pem"

    /// A file that is larger is no key.
    private static let longestFile = 4096

    /// Reads the identity of a server, or makes it durably where there is none. A file that is no key, or that others can
    /// read, is never replaced: it may be what verifies all receipts that were given so far.
    ///
    /// - Parameter folder: the server's own, which no other server is using; a path of this machine.
    /// - Returns: the identity, and whether it was made now.
    package static func open(in folder: String) throws(Fault) -> (identity: ServerIdentity, isNew: Bool) {
        let path = "\(folder)/\(fileName)"
        guard let file = try find(path) else { return (try make(in: folder, path), true) }
        guard file.isPrivate else {
            throw Fault(
                path,
                "can be read or written by others, who could then sign receipts in its name. If nobody has, run "
                    + "'chmod 600' on it; otherwise remove it, and a new identity is made")
        }
        let text = String(decoding: file.content, as: UTF8.self)
        guard let secret = KeyDocument.key(text, KeyDocument.privateLabel, KeyDocument.privatePrefix) else {
            throw Fault(
                path,
                "is not a private Ed25519 key in PEM. Put the file back from a backup, or move it away: then a new identity "
                    + "is made, and receipts given so far can only be verified with the old public key")
        }
        return (ServerIdentity(secret: secret), false)
    }

    /// - Returns: nothing when there is no such file.
    private static func find(_ path: String) throws(Fault) -> (content: [UInt8], isPrivate: Bool)? {
        do throws(SystemError) {
            let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | clinux_o_nofollow
            let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) })
            let number = file.number
            var status = stat()
            try system("fstat") { fstat(number, &status) }
            return (try content(of: file), status.st_mode & 0o077 == 0)
        } catch {
            guard error.errno != ENOENT else { return nil }
            throw Fault(path, "cannot be read: \(error.reason)")
        }
    }

    private static func content(of file: borrowing Descriptor) throws(SystemError) -> [UInt8] {
        let number = file.number
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: longestFile) { buffer, count in
            do throws(SystemError) {
                count = try system("read") { Glibc.read(number, buffer.baseAddress, buffer.count) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}

// MARK: Making

extension ServerIdentity {
    private static func make(in folder: String, _ path: String) throws(Fault) -> ServerIdentity {
        let identity = ServerIdentity()
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, identity.secret)
        do throws(SystemError) {
            try write(Array(text.utf8), to: "\(path).new")
            try system("rename") { rename("\(path).new", path) }
            try sync(folder)
        } catch {
            throw Fault(path, "cannot be made: \(error.reason)")
        }
        return identity
    }

    /// Makes a file that only its owner can read, all of it on disk.
    private static func write(_ content: [UInt8], to path: String) throws(SystemError) {
        // Left behind by a server that was killed while it made its identity.
        unlink(path)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | clinux_o_nofollow
        let file = Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0o600) })
        let number = file.number
        var written = 0
        while written < content.count {
            written += try content.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
                return try system("write") { Glibc.write(number, rest.baseAddress, rest.count) }
            }
        }
        try system("fsync") { fsync(number) }
    }

    private static func sync(_ folder: String) throws(SystemError) {
        let flags = clinux_o_directory | O_RDONLY | O_CLOEXEC
        let directory = Descriptor(try system("open") { clinux_openat(AT_FDCWD, folder, flags, 0) })
        let number = directory.number
        try system("fsync") { fsync(number) }
    }
}

extension ServerIdentity.Fault {
    /// - Parameter problem: completes a sentence that begins with the file.
    fileprivate init(_ path: String, _ problem: String) {
        self.init(message: "The server's identity '\(path.escapedForDisplay)' \(problem).")
    }
}
