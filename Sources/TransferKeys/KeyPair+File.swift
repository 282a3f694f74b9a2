import Glibc
import TransferModel
import TransferSystem

extension KeyPair {
    /// Why there is no key pair.
    package struct Fault: Error, Equatable, Sendable {
        /// A sentence that says what to do.
        package let message: String

        package init(message: String) {
            self.message = message
        }
    }

    /// How to speak of the file of a key pair.
    package struct Wording: Sendable {
        /// What it is, such as `The server's identity`.
        package let name: String
        /// Completes "can be read or written by others, who could then".
        package let harm: String
        /// A sentence: what to do when others may have read it.
        package let remedy: String
        /// A sentence: what to do when it is damaged.
        package let repair: String

        package init(name: String, harm: String, remedy: String, repair: String) {
            self.name = name
            self.harm = harm
            self.remedy = remedy
            self.repair = repair
        }
    }

    /// A file that is larger is no key.
    private static let longestFile = 4096

    /// Reads a key pair, or makes it durably where there is none. A file that is no key, or that others can read, is
    /// never replaced: somebody may know its owner by it.
    ///
    /// - Parameter path: of a file, the last component no link, in a folder that is there.
    /// - Returns: the key pair, and whether it was made now.
    package static func open(_ path: String, _ wording: Wording) throws(Fault) -> (pair: KeyPair, isNew: Bool) {
        if let pair = try find(path, wording) { return (pair, false) }
        let pair = KeyPair()
        // Another process may have made one meanwhile: then that is the one.
        if try pair.write(to: path, replaces: false, wording) { return (pair, true) }
        guard let pair = try find(path, wording) else {
            throw Fault(wording, path, "is being made and removed by others at the same time")
        }
        return (pair, false)
    }

    /// - Returns: nothing when there is no such file.
    package static func find(_ path: String, _ wording: Wording) throws(Fault) -> KeyPair? {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: longestFile)
        } catch {
            throw Fault(wording, path, "cannot be read: \(error.reason)")
        }
        guard let file else { return nil }
        guard file.isPrivate else {
            throw Fault(
                wording, path, "can be read or written by others, who could then \(wording.harm)", wording.remedy)
        }
        let text = String(decoding: file.content, as: UTF8.self)
        guard let secret = KeyDocument.key(text, KeyDocument.privateLabel, KeyDocument.privatePrefix) else {
            throw Fault(wording, path, "is not a private Ed25519 key in PEM", wording.repair)
        }
        return KeyPair(secret: secret)
    }

    /// Writes the pair durably to a file that only its owner can read.
    ///
    /// - Parameter replaces: whether a file of that name is replaced.
    /// - Returns: whether it was written; never false when it replaces.
    package func write(to path: String, replaces: Bool, _ wording: Wording) throws(Fault) -> Bool {
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, secret)
        do throws(SystemError) {
            return try OwnFile.write(Array(text.utf8), to: path, replaces: replaces)
        } catch {
            throw Fault(wording, path, "cannot be made: \(error.reason)")
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
