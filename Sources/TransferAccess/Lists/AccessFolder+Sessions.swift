package import TransferModel

/// Sessions of browsers, and the links that begin them.
extension AccessFolder {
    /// How long a session lasts where nobody says so: 30 days, as long as a token that one makes for a month.
    package static let sessionSeconds: Int64 = 30 * 86_400

    /// Numbers that are tried behind the name of a session that another one has; no list is as long.
    private static let mostNumbers = 99_999

    /// Makes a link for a browser: as long as a pairing code it begins one session.
    ///
    /// - Parameters:
    ///   - options: of the link, with its end; the session has the same, with another end.
    ///   - sessionEnds: that one.
    /// - Returns: what its owner is to be shown, once.
    package func issueLink(
        name: String, options: AccessOptions, sessionEnds: UTCTime, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(.web)
        let link = AccessToken(link: secret, name: name, options: options, sessionEnds: sessionEnds)
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.tokensName, of: AccessToken.self) { (tokens) throws(AccessFault) in
                Self.sweep(&tokens, at: now)
                try tokens.append(link)
            }
        }
        return secret
    }

    /// Uses a link up, and begins a session. The file is replaced once for both, so a crash leaves either the link or the
    /// session, whose secret nobody knows then.
    ///
    /// - Parameters:
    ///   - secret: of the session.
    ///   - link: whose secret was shown.
    /// - Returns: nothing when the link was used or removed meanwhile.
    func beginSession(
        _ secret: AccessSecret, _ hash: SecretHash, with link: AccessToken, at now: UTCTime
    ) throws(AccessFault) -> AccessToken? {
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.tokensName, of: AccessToken.self) { (tokens) throws(AccessFault) in
                guard !tokens.remove(where: { $0 == link }).isEmpty else { return nil }
                Self.sweep(&tokens, at: now)
                var options = link.options
                options.expires = link.sessionEnds
                let session = AccessToken(
                    session: secret, hash, name: Self.unused(link.name, in: tokens), options: options, made: now)
                try tokens.append(session)
                return session
            }
        }
    }

    /// Takes out what is for one use or one session, and has expired.
    static func sweep(_ tokens: inout AccessTokens, at now: UTCTime) {
        _ = tokens.remove { $0.kind != .token && $0.options.hasExpired(at: now) }
    }

    /// Two sessions have two names, so that one of them can be removed by it.
    private static func unused(_ name: String, in tokens: AccessTokens) -> String {
        let taken = Set(tokens.entries.filter { $0.kind == .session }.map { PathKey($0.name) })
        let names = (1...mostNumbers).lazy.map { $0 == 1 ? name : "\(name) \($0)" }
        return names.first { !taken.contains(PathKey($0)) && (try? AccessLine.check($0)) != nil } ?? name
    }
}
