package import TransferKeys
package import TransferModel
import TransferSystem

/// The keys of people as they were first seen, so that no server can replace them: a file with a line for each identity
/// of a person, which is one of the person's machines.
///
/// A person's identity signs what a server says of the person, but only the server says which identities a person has.
/// Therefore the first identities are kept, and are shown so that people can compare them. Later keys must be signed by
/// a known identity, or the user must accept them.
package struct KnownPeople: Sendable, Equatable {
    /// One identity of a person on a server.
    package struct Entry: Sendable, Equatable {
        /// Fingerprint of the server's own key; nil if it has none.
        package let server: KeyFingerprint?

        /// The person's name on that server.
        package let name: String

        /// Fingerprint of the person's Ed25519 key.
        package let identity: KeyFingerprint

        /// The key to seal for; nil if only signatures of the person were seen.
        package let sealing: Sealing?

        package struct Sealing: Sendable, Equatable {
            package let fingerprint: KeyFingerprint
            package let issued: UTCTime

            package init(_ fingerprint: KeyFingerprint, issued: UTCTime) {
                (self.fingerprint, self.issued) = (fingerprint, issued)
            }
        }

        package init(server: KeyFingerprint?, name: String, identity: KeyFingerprint, sealing: Sealing? = nil) {
            (self.server, self.name, self.identity, self.sealing) = (server, name, identity, sealing)
        }

        /// Compares names byte by byte, as the server's lists do.
        package static func == (a: Entry, b: Entry) -> Bool {
            a.isAbout(b.name, b.server) && a.identity == b.identity && a.sealing == b.sealing
        }

        func isAbout(_ name: String, _ server: KeyFingerprint?) -> Bool {
            self.server == server && self.name.hasSameBytes(as: name)
        }
    }

    /// Why a key is not accepted.
    package struct Fault: Error, Sendable, Equatable {
        package enum Reason: Sendable {
            /// The file cannot be read or changed.
            case file
            /// The key is not known as the person's, or is older than the known one.
            case otherKey
        }

        package let reason: Reason

        /// Sentences for people that say what to do.
        package let message: String
    }

    /// Whether a person's key was known already.
    package enum Seen: Sendable {
        case known
        /// The key is known from now on; the user should be shown it, to compare it.
        case first
    }

    /// Path of the file, which need not exist.
    package let path: String

    /// Identity of the present file; nil if it does not exist. Another program may change it at any time.
    var version: FileIdentity? { OwnFile.identity(of: path) }

    /// - Parameter path: path of the file, which is made when it is needed, with its folder.
    package init(path: String) {
        self.path = path
    }

    static let fileName = "known_people"

    /// The user's own file, beside the list of known servers; nil if there is no folder for it.
    package static var standard: KnownPeople? {
        ConfigurationFolder.path.map { KnownPeople(path: "\($0)/\(fileName)") }
    }

    /// All entries, in the order of the file.
    package func entries() throws(Fault) -> [Entry] { try lines().compactMap(\.entry) }

    /// The entries of one person.
    package func entries(of name: String, on server: KeyFingerprint?) throws(Fault) -> [Entry] {
        try entries().filter { $0.isAbout(name, server) }
    }

    /// Checks that a signature's key is known as the person's. If no key is known of the person, this key is known from
    /// then on.
    ///
    /// - Parameters:
    ///   - name: the name of the sender, according to the server.
    ///   - server: identifies the server; see `ProvenServer.fingerprint`.
    /// - Throws: `otherKey` if other keys are known of the person.
    package func check(
        signer: PublicKey, named name: String, on server: KeyFingerprint?
    ) throws(Fault) -> Seen {
        let identity = KeyFingerprint(of: signer)
        // Most keys are known; then no lock is needed.
        if try entries(of: name, on: server).contains(where: { $0.identity == identity }) { return .known }
        return try change { (lines) throws(Fault) in
            let known = lines.compactMap(\.entry).filter { $0.isAbout(name, server) }
            guard !known.contains(where: { $0.identity == identity }) else { return .known }
            guard known.isEmpty else { throw Self.otherSigner(identity, of: name, known) }
            lines.append(Line(Entry(server: server, name: name, identity: identity)))
            return .first
        }
    }

    /// Forgets all identities of a person.
    ///
    /// - Returns: the entries that were removed.
    @discardableResult
    package func forget(_ name: String, on server: KeyFingerprint?) throws(Fault) -> [Entry] {
        try change { (lines) throws(Fault) in
            let known = lines.compactMap(\.entry).filter { $0.isAbout(name, server) }
            lines.removeAll { $0.entry?.isAbout(name, server) ?? false }
            return known
        }
    }

    private static func otherSigner(_ identity: KeyFingerprint, of name: String, _ known: [Entry]) -> Fault {
        let keys = known.map { "\($0.identity)" }.joined(separator: ", ")
        return Fault(
            reason: .otherKey,
            message:
                "It is signed by \(identity), which is not a known key of \(name.escapedForDisplay): "
                + "known is \(keys). Another person may have sent it in that name, or "
                + "\(name.escapedForDisplay) has a new machine. Ask, and if that is so, run \(trustCommand(name))."
        )
    }

    /// The command to accept a person's keys, in a form that can be pasted; in quotes unless the name itself needs
    /// quotes.
    static func trustCommand(_ name: String) -> String {
        let word = name.escapedForDisplay.shellWord
        let command = "transfer people --trust \(word)"
        return word.hasSameBytes(as: name) ? "'\(command)'" : command
    }
}
