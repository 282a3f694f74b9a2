package import TransferKeys
package import TransferModel
import TransferSystem

/// The keys of people as they were first seen, so that no server can put others in their place: a file with a line for each
/// identity of a person, which is one of the person's machines.
///
/// What a server says of somebody is signed by an identity, but which identity somebody has nobody but the server says. So the
/// first ones that are seen are kept, and shown for people to compare; later ones must be signed by them, or be accepted.
package struct KnownPeople: Sendable, Equatable {
    /// One identity of a person on a server.
    package struct Entry: Sendable, Equatable {
        /// Of the server's own key; nothing where it has none.
        package let server: KeyFingerprint?

        /// On that server.
        package let name: String

        /// Of the Ed25519 key.
        package let identity: KeyFingerprint

        /// Of the key that is sealed for, and when it was signed; nothing where only signatures were seen.
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

        /// The name byte by byte: the server's lists compare it so.
        package static func == (a: Entry, b: Entry) -> Bool {
            a.isAbout(b.name, b.server) && a.identity == b.identity && a.sealing == b.sealing
        }

        func isAbout(_ name: String, _ server: KeyFingerprint?) -> Bool {
            self.server == server && self.name.hasSameBytes(as: name)
        }
    }

    /// Why a key is not taken.
    package struct Fault: Error, Sendable, Equatable {
        package enum Reason: Sendable {
            /// The file cannot be read or changed.
            case file
            /// It is not one that is known of the person, or is older than one that is.
            case otherKey
        }

        package let reason: Reason

        /// Sentences that say what to do.
        package let message: String
    }

    /// Whether something was known.
    package enum Seen: Sendable {
        case known
        /// It is from now on; whoever uses it should be told, and can compare the key.
        case first
    }

    /// The file.
    package let path: String

    /// The file as it is now; nothing where there is none. Another program may change it at any time.
    var version: FileIdentity? { OwnFile.identity(of: path) }

    /// - Parameter path: of the file; it and the folder it is in are made when they are needed.
    package init(path: String) {
        self.path = path
    }

    static let fileName = "known_people"

    /// The user's own: beside the list of known servers. Nothing without a folder for it.
    package static var standard: KnownPeople? {
        ConfigurationFolder.path.map { KnownPeople(path: "\($0)/\(fileName)") }
    }

    /// All of them, in the order of the file.
    package func entries() throws(Fault) -> [Entry] { try lines().compactMap(\.entry) }

    /// Those of one person.
    package func entries(of name: String, on server: KeyFingerprint?) throws(Fault) -> [Entry] {
        try entries().filter { $0.isAbout(name, server) }
    }

    /// Whether something that a person has signed is signed by a key that is known of that person. At first use the key is
    /// taken for the person's, and known from then on.
    ///
    /// - Parameters:
    ///   - name: of whom the server says that it comes from.
    ///   - server: what the server is known by; see `ProvenServer.fingerprint`.
    /// - Throws: `otherKey` when others are known of that person.
    package func check(
        signer: PublicKey, named name: String, on server: KeyFingerprint?
    ) throws(Fault) -> Seen {
        let identity = KeyFingerprint(of: signer)
        // Nearly always it is known, and nothing has to be locked.
        if try entries(of: name, on: server).contains(where: { $0.identity == identity }) { return .known }
        return try change { (lines) throws(Fault) in
            let known = lines.compactMap(\.entry).filter { $0.isAbout(name, server) }
            guard !known.contains(where: { $0.identity == identity }) else { return .known }
            guard known.isEmpty else { throw Self.otherSigner(identity, of: name, known) }
            lines.append(Line(Entry(server: server, name: name, identity: identity)))
            return .first
        }
    }

    /// Forgets a person.
    ///
    /// - Returns: what was known.
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
                "It is signed by \(identity), which is not known of \(name.escapedForDisplay): known is \(keys). Somebody "
                + "may have sent it in that name, or \(name.escapedForDisplay) has another machine. Ask, and if it is so run "
                + "\(trustCommand(name)).")
    }

    /// As it can be pasted; between quotes of the sentence unless there are some in it.
    static func trustCommand(_ name: String) -> String {
        let word = name.escapedForDisplay.shellWord
        let command = "transfer people --trust \(word)"
        return word.hasSameBytes(as: name) ? "'\(command)'" : command
    }
}
