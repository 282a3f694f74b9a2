import Glibc
package import TransferKeys
package import TransferModel
import TransferSystem

/// The key pair that this user's clients show to servers, in a file of the user's configuration.
package struct ClientKey: Sendable {
    package static let fileName = "key.pem"

    /// Path of the key file.
    package let path: String

    private let folder: String

    private static let wording = KeyPair.Wording(
        name: "Your key", harm: "push in your name",
        remedy:
            "If no other user has, run 'chmod 600' on it; otherwise make another with 'transfer key "
            + "new' and have the old one removed from the servers that know it.",
        repair: "Put the file back from a backup, or make another key with 'transfer key new'.")

    /// - Parameter folder: folder of the user's configuration. It is created when a key is created.
    package init(in folder: String) {
        self.folder = folder
        path = "\(folder)/\(Self.fileName)"
    }

    /// Reads the key pair; nil if the user has none.
    package func find() throws(KeyPair.Fault) -> KeyPair? { try KeyPair.find(path, Self.wording) }

    /// Reads the key pair, or creates one.
    package func open() throws(KeyPair.Fault) -> (pair: KeyPair, isNew: Bool) {
        try makeFolder()
        return try KeyPair.open(path, Self.wording)
    }

    /// Replaces the key pair. The old file is kept beside the new one, with the time in its name, because the old key
    /// may be needed to have a server admit the new one.
    ///
    /// - Returns: the new pair, and the path of the old file; nil if there was no old file.
    package func replace(at now: UTCTime) throws(KeyPair.Fault) -> (pair: KeyPair, old: String?) {
        try makeFolder()
        let pair = KeyPair()
        let old = try keepOld(at: now)
        // If this fails, the old key keeps its second name: the new one may have taken the first name all the same.
        _ = try pair.write(to: path, replaces: true, Self.wording)
        return (pair, old)
    }

    /// Gives the key file a second name that no file has. Until the new file takes its first name, the user has the old key. Where the
    /// file system has no hard links, the file gets the other name alone.
    ///
    /// - Returns: the second name; nil if there is no key file.
    private func keepOld(at now: UTCTime) throws(KeyPair.Fault) -> String? {
        for number in 1... {
            let old = "\(path).\(now.seconds)\(number == 1 ? "" : "-\(number)").old"
            if link(path, old) == 0 { return old }
            if errno != EEXIST, errno != ENOENT, access(old, F_OK) != 0, rename(path, old) == 0 { return old }
            switch errno {
            case ENOENT: return nil
            case EEXIST: continue
            case let reason:
                throw KeyPair.Fault(
                    message: "The old key '\(path.escapedForDisplay)' cannot be kept beside the new one: "
                        + "\(SystemError(errno: reason, call: "link").reason). Move it elsewhere; then make a new key.")
            }
        }
        return nil
    }

    private func makeFolder() throws(KeyPair.Fault) {
        do throws(SystemError) {
            try OwnFile.makeFolder(folder)
        } catch {
            throw KeyPair.Fault(message: "The folder '\(folder.escapedForDisplay)' cannot be created: \(error.reason).")
        }
    }
}

extension ClientKey {
    /// The machine's host name, or "client" if that is not a valid name.
    package static var hostName: String {
        // HOST_NAME_MAX and a NUL (gethostname(2)).
        var name = [CChar](repeating: 0, count: 65)
        guard gethostname(&name, name.count - 1) == 0 else { return "client" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return (try? AccessLine.check(text)) == nil ? "client" : text
    }

    /// The line for a server's `authorized_keys`.
    package static func line(for key: PublicKey) -> String { AuthorizedKey(key, name: hostName).line }
}
