import Glibc
import TransferModel
import TransferSystem

extension KeyPair {
    /// The reason why a key pair cannot be read or made.
    package struct Fault: Error, Equatable, Sendable {
        /// A sentence for the user that says what to do.
        package let message: String

        package init(message: String) {
            self.message = message
        }
    }

    /// Wording of messages about a file with a key pair.
    package struct Wording: Sendable {
        /// Name of the key, such as `The server's identity`.
        package let name: String
        /// Completes "can be read or written by other users, who could then".
        package let harm: String
        /// A sentence with advice if other users may have read the file.
        package let remedy: String
        /// A sentence with advice if the file is damaged.
        package let repair: String

        package init(name: String, harm: String, remedy: String, repair: String) {
            self.name = name
            self.harm = harm
            self.remedy = remedy
            self.repair = repair
        }
    }

    /// Most bytes of a file; no key is larger.
    private static let longestFile = 4096

    /// Reads a key pair, or makes one durably if the file does not exist. A file without a key, or one that other users
    /// can read, is never replaced, because others may know the owner by that key.
    ///
    /// - Parameters:
    ///   - path: path in an existing folder; its last component must not be a symbolic link, unless `isMounted`.
    ///   - isMounted: whether the file may be a secret of a container: a symbolic link to a file that root shares with a group.
    /// - Returns: the key pair, and whether it is new.
    package static func open(
        _ path: String, _ wording: Wording, isMounted: Bool = false
    ) throws(Fault) -> (pair: KeyPair, isNew: Bool) {
        if let pair = try find(path, wording, isMounted: isMounted) { return (pair, false) }
        let pair = KeyPair()
        // Another process may have made a key pair meanwhile, which is then used.
        if try pair.write(to: path, replaces: false, wording) { return (pair, true) }
        guard let pair = try find(path, wording, isMounted: isMounted) else {
            throw Fault(wording, path, "is being created and removed by other processes at the same time")
        }
        return (pair, false)
    }

    /// - Returns: nil if the file does not exist.
    package static func find(_ path: String, _ wording: Wording, isMounted: Bool = false) throws(Fault) -> KeyPair? {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: longestFile, followsLink: isMounted)
        } catch {
            throw Fault(wording, path, "cannot be read: \(error.reason)")
        }
        guard let file else { return nil }
        guard file.isPrivate || isMounted && file.isSharedByRoot else {
            throw Fault(
                wording, path, "can be read or written by other users, who could then \(wording.harm)", wording.remedy)
        }
        let text = String(decoding: file.content, as: UTF8.self)
        guard let secret = KeyDocument.key(text, KeyDocument.privateLabel, KeyDocument.privatePrefix) else {
            throw Fault(wording, path, "is not a private Ed25519 key in PEM", wording.repair)
        }
        return KeyPair(secret: secret)
    }

    /// Writes the pair durably to a file that only its owner can read.
    ///
    /// - Parameter replaces: whether to replace an existing file.
    /// - Returns: whether it was written; always true if it replaces.
    package func write(to path: String, replaces: Bool, _ wording: Wording) throws(Fault) -> Bool {
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, secret)
        do throws(SystemError) {
            return try OwnFile.write(Array(text.utf8), to: path, replaces: replaces)
        } catch {
            throw Fault(wording, path, "cannot be created: \(error.reason)")
        }
    }
}

extension KeyPair.Fault {
    /// - Parameters:
    ///   - problem: completes a sentence that begins with the file.
    ///   - advice: the next sentence; may be empty.
    package init(_ wording: KeyPair.Wording, _ path: String, _ problem: String, _ advice: String = "") {
        let sentence = "\(wording.name) '\(path.escapedForDisplay)' \(problem)."
        self.init(message: advice.isEmpty ? sentence : "\(sentence) \(advice)")
    }
}
