package import TransferModel

/// A secret that lets a client in, as the server keeps it: `[OPTIONS] token ID HASH NAME`, or `pairing` for one that
/// enrols the key of a client once. `[OPTIONS] web ID HASH TIME NAME` begins the session of a browser once, which ends at that
/// time, and `[OPTIONS] session ID HASH TIME NAME` is one that was begun then.
package struct AccessToken: AccessEntry {
    package static let kinds = Dictionary(
        AccessSecret.Kind.allCases.map { ($0.word, $0.hasTime ? 3 : 2) }
    ) { first, _ in first }

    package let kind: AccessSecret.Kind
    package let id: String
    package let hash: SecretHash
    package let name: String
    package let options: AccessOptions
    private let time: UTCTime?

    /// Hashes a new secret, which takes some 70 ms.
    package init(_ secret: AccessSecret, name: String, options: AccessOptions) {
        self.init(secret, SecretHash(of: secret), name: name, options: options, nil)
    }

    /// A link for a browser, whose session will end then.
    init(link secret: AccessSecret, name: String, options: AccessOptions, sessionEnds: UTCTime) {
        self.init(secret, SecretHash(of: secret), name: name, options: options, sessionEnds)
    }

    /// The session of a browser, made now.
    init(session secret: AccessSecret, _ hash: SecretHash, name: String, options: AccessOptions, made: UTCTime) {
        self.init(secret, hash, name: name, options: options, made)
    }

    private init(
        _ secret: AccessSecret, _ hash: SecretHash, name: String, options: AccessOptions, _ time: UTCTime?
    ) {
        (kind, id, self.hash) = (secret.kind, secret.id, hash)
        (self.name, self.options, self.time) = (name, options, time)
    }

    package init(_ line: AccessLine) throws(AccessFault) {
        kind = AccessSecret.Kind.allCases.first { $0.word == line.kind } ?? .token
        id = line.fields[0]
        guard AccessSecret.isID(id) else { throw AccessFault("'\(id.escapedForDisplay)' is not the id of a token") }
        guard let hash = SecretHash(line.fields[1]) else { throw AccessFault("its hash cannot be read") }
        self.hash = hash
        time = kind.hasTime ? UTCTime(line.fields[2]) : nil
        guard !kind.hasTime || time != nil else { throw AccessFault("its time cannot be read") }
        (name, options) = (line.name, line.options)
    }

    /// When a session was made.
    package var made: UTCTime? { kind == .session ? time : nil }

    /// When the session ends that is made with a link.
    package var sessionEnds: UTCTime? { kind == .web ? time : nil }

    package var fields: [String] { [kind.word, id, hash.description] + (time.map { ["\($0)"] } ?? []) }
}

extension AccessSecret.Kind {
    /// As it stands in a line.
    fileprivate var word: String {
        switch self {
        case .token: "token"
        case .pairing: "pairing"
        case .web: "web"
        case .session: "session"
        }
    }

    fileprivate var hasTime: Bool { self == .web || self == .session }
}

/// `DIR/.transfer/tokens`.
package typealias AccessTokens = AccessList<AccessToken>
