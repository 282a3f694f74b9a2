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
                "can be read or written by others, who could then act in its name. If nobody has, run "
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
    private static func find(_ path: String) throws(Fault) -> PrivateFile.Found? {
        do throws(SystemError) {
            return try PrivateFile.read(path, limit: longestFile, followsLinks: false)
        } catch {
            throw Fault(path, "cannot be read: \(error.reason)")
        }
    }

    private static func make(in folder: String, _ path: String) throws(Fault) -> ServerIdentity {
        let identity = ServerIdentity()
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, identity.secret)
        do throws(SystemError) {
            try PrivateFile.write(Array(text.utf8), to: path, in: folder)
        } catch {
            throw Fault(path, "cannot be made: \(error.reason)")
        }
        return identity
    }
}

extension ServerIdentity.Fault {
    /// - Parameter problem: completes a sentence that begins with the file.
    fileprivate init(_ path: String, _ problem: String) {
        self.init(message: "The server's identity '\(path.escapedForDisplay)' \(problem).")
    }
}
