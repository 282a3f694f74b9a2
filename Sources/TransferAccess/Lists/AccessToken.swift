package import TransferModel

/// The server's entry for a secret. `[OPTIONS] token ID HASH NAME` admits a client, and `pairing` in place of `token`
/// enrols the key of one client. `[OPTIONS] web ID HASH TIME NAME` begins the session of one browser, which ends at
/// that time, and `[OPTIONS] session ID HASH TIME NAME` is a session that began at that time.
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

    /// Makes an entry with the hash of a new secret, which takes some 70 ms.
    package init(_ secret: AccessSecret, name: String, options: AccessOptions) {
        self.init(secret, SecretHash(of: secret), name: name, options: options, nil)
    }

    /// Makes the entry of a link whose session will expire at `sessionEnds`.
    init(link secret: AccessSecret, name: String, options: AccessOptions, sessionEnds: UTCTime) {
        self.init(secret, SecretHash(of: secret), name: name, options: options, sessionEnds)
    }

    /// Makes the entry of a browser's session that begins at the time `made`.
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

    /// Beginning of a session; nil for other kinds.
    package var made: UTCTime? { kind == .session ? time : nil }

    /// Expiry of the session that a link begins; nil for other kinds.
    package var sessionEnds: UTCTime? { kind == .web ? time : nil }

    package var fields: [String] { [kind.word, id, hash.description] + (time.map { ["\($0)"] } ?? []) }
}

extension AccessSecret.Kind {
    /// The word for this kind in a line.
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

/// Contents of `DIR/.transfer/tokens`, one entry a line.
package typealias AccessTokens = AccessList<AccessToken>
