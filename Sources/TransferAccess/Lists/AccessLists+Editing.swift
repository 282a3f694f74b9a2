import TransferKeys
package import TransferModel

// MARK: Clients and tokens

extension AccessLists {
    /// Admits a client by its key.
    ///
    /// - Throws: a sentence, also when the key is there already.
    package func admit(_ key: AuthorizedKey) throws(AccessFault) {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (keys: inout AuthorizedKeys) throws(AccessFault) in try keys.append(key) }
        }
    }

    /// Takes out keys.
    ///
    /// - Returns: those that it took out.
    package func expel(where condition: (AuthorizedKey) -> Bool) throws(AccessFault) -> [AuthorizedKey] {
        try edit { (editing) throws(AccessFault) in try editing.change(keys: { $0.remove(where: condition) }) }
    }

    /// Makes a token or a pairing code. Codes, links and sessions that have expired are cleared away.
    ///
    /// - Returns: the secret, which is shown to its owner once.
    package func issue(
        _ kind: AccessSecret.Kind, name: String, options: AccessOptions, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(kind)
        try add(AccessToken(secret, name: name, options: options), at: now)
        return secret
    }

    /// Takes out tokens.
    ///
    /// - Returns: those that it took out.
    package func revoke(where condition: (AccessToken) -> Bool) throws(AccessFault) -> [AccessToken] {
        try edit { (editing) throws(AccessFault) in try editing.change(tokens: { $0.remove(where: condition) }) }
    }

    private func add(_ token: AccessToken, at now: UTCTime) throws(AccessFault) {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (tokens: inout AccessTokens) throws(AccessFault) in
                Self.sweep(&tokens, at: now)
                try tokens.append(token)
            }
        }
    }

    /// Removes expired entries of the kinds that are for one use or one session.
    private static func sweep(_ tokens: inout AccessTokens, at now: UTCTime) {
        _ = tokens.remove { $0.kind != .token && $0.options.hasExpired(at: now) }
    }
}

// MARK: Pairing

extension AccessLists {
    /// Uses a pairing code up, and admits the key with what the code allows.
    ///
    /// The code goes first: what is lost in a crash between the two is a code, never the promise that it works once.
    ///
    /// - Parameters:
    ///   - code: whose secret was shown.
    ///   - name: what the client calls itself; a number is added if another client has the name.
    ///   - isReserved: whether a name that is in no list belongs to another person all the same.
    /// - Returns: the entry; nil when the code was used, removed or replaced meanwhile.
    func enrol(
        _ key: PublicKey, named name: String, with code: AccessToken, isReserved: (String) -> Bool = { _ in false }
    ) throws(AccessFault) -> AuthorizedKey? {
        try edit { (editing) throws(AccessFault) in
            let (used, tokens) = try editing.change(tokens: { tokens in
                (tokens.remove { $0 == code }, tokens.entries.map(\.name))
            })
            guard !used.isEmpty else { return nil }
            var options = code.options
            options.expires = nil
            return try editing.change { (keys: inout AuthorizedKeys) throws(AccessFault) in
                // It is here only if its access has expired.
                _ = keys.remove { $0.key == key }
                // Tokens are clients, too.
                let names = keys.entries.map(\.name) + tokens + [Grant.ownersName, Grant.everyonesName]
                let taken = Set(names.map { PathKey($0) })
                let unused = Self.unused(name) { !taken.contains(PathKey($0)) && !isReserved($0) }
                let entry = AuthorizedKey(key, name: unused, options: options)
                try keys.append(entry)
                return entry
            }
        }
    }

    /// The name itself or, if it is taken, the first that is free with a number behind it. One of them is: no list is as long.
    private static func unused(_ name: String, _ isFree: (String) -> Bool) -> String {
        (1...99_999).lazy.map { $0 == 1 ? name : "\(name) \($0)" }.first(where: isFree) ?? name
    }
}

// MARK: Sessions of browsers, and the links that begin them

extension AccessLists {
    /// Makes a link for a browser: as long as a pairing code it begins one session.
    ///
    /// - Parameters:
    ///   - options: the bounds of the link, with the time when it expires; the session has the same bounds.
    ///   - sessionEnds: when the session expires.
    /// - Returns: the secret, which is shown to its owner once.
    package func issueLink(
        name: String, options: AccessOptions, sessionEnds: UTCTime, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(.web)
        try add(AccessToken(link: secret, name: name, options: options, sessionEnds: sessionEnds), at: now)
        return secret
    }

    /// Uses a link up, and begins a session. Both are one change of one list, so a crash leaves either the link or the session, whose
    /// secret has reached no browser then.
    ///
    /// - Parameters:
    ///   - secret: of the session.
    ///   - link: whose secret was shown.
    /// - Returns: nil when the link was used or removed meanwhile.
    func beginSession(
        _ secret: AccessSecret, _ hash: SecretHash, with link: AccessToken, at now: UTCTime
    ) throws(AccessFault) -> AccessToken? {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (tokens: inout AccessTokens) throws(AccessFault) in
                guard !tokens.remove(where: { $0 == link }).isEmpty else { return nil }
                Self.sweep(&tokens, at: now)
                var options = link.options
                options.expires = link.sessionEnds
                // Two sessions have two names, so that one of them can be removed by it.
                let taken = Set(tokens.entries.filter { $0.kind == .session }.map { PathKey($0.name) })
                let unused = Self.unused(link.name) { name in
                    !taken.contains(PathKey(name)) && (try? AccessLine.check(name)) != nil
                }
                let session = AccessToken(session: secret, hash, name: unused, options: options, made: now)
                try tokens.append(session)
                return session
            }
        }
    }
}
