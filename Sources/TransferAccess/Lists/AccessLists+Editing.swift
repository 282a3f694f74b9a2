import TransferKeys
package import TransferModel

// MARK: Clients and tokens

extension AccessLists {
    /// Admits a client by its key.
    ///
    /// - Throws: a sentence, for example if the key is already in the list.
    package func admit(_ key: AuthorizedKey) throws(AccessFault) {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (keys: inout AuthorizedKeys) throws(AccessFault) in try keys.append(key) }
        }
    }

    /// Removes matching keys from the list.
    ///
    /// - Returns: the removed entries.
    package func expel(where condition: (AuthorizedKey) -> Bool) throws(AccessFault) -> [AuthorizedKey] {
        try edit { (editing) throws(AccessFault) in try editing.change(keys: { $0.remove(where: condition) }) }
    }

    /// Makes a token or a pairing code. Also removes expired codes, links and sessions from the list.
    ///
    /// - Returns: the secret, which is displayed to its owner once.
    package func issue(
        _ kind: AccessSecret.Kind, name: String, options: AccessOptions, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(kind)
        try add(AccessToken(secret, name: name, options: options), at: now)
        return secret
    }

    /// Removes matching tokens from the list.
    ///
    /// - Returns: the removed entries.
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

    /// Removes expired codes, links and sessions.
    private static func sweep(_ tokens: inout AccessTokens, at now: UTCTime) {
        _ = tokens.remove { $0.kind != .token && $0.options.hasExpired(at: now) }
    }
}

// MARK: Pairing

extension AccessLists {
    /// Uses a pairing code, and admits the key with the code's options.
    ///
    /// The code is removed first, so that a crash between the two changes can lose the code but never makes it usable
    /// twice.
    ///
    /// - Parameters:
    ///   - code: the code whose secret the client has sent.
    ///   - name: the name that the client gives itself. If another client has it, a number is added.
    ///   - isReserved: whether a name that is in no list is reserved for a person.
    /// - Returns: the new entry; nil if the code was used, removed or replaced in the meantime.
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
                // If the key is in the list, its access has expired: a client with a valid key would not have used the
                // code.
                _ = keys.remove { $0.key == key }
                // Names of tokens cannot be used either.
                let names = keys.entries.map(\.name) + tokens + [Grant.ownersName, Grant.everyonesName]
                let taken = Set(names.map { PathKey($0) })
                let unused = Self.unused(name) { !taken.contains(PathKey($0)) && !isReserved($0) }
                let entry = AuthorizedKey(key, name: unused, options: options)
                try keys.append(entry)
                return entry
            }
        }
    }

    /// The name or, if another entry has it, the name with the first number that makes it free. Such a number exists,
    /// because no list is that long.
    private static func unused(_ name: String, _ isFree: (String) -> Bool) -> String {
        (1...99_999).lazy.map { $0 == 1 ? name : "\(name) \($0)" }.first(where: isFree) ?? name
    }
}

// MARK: Sessions of browsers, and the links that begin them

extension AccessLists {
    /// Makes a link for a browser. The link is valid as long as a pairing code, and begins one session.
    ///
    /// - Parameters:
    ///   - options: options of the link, including its expiry. The session gets the same options with `sessionEnds` as
    ///     expiry.
    ///   - sessionEnds: expiry of the session.
    /// - Returns: the secret, which is displayed to its owner once.
    package func issueLink(
        name: String, options: AccessOptions, sessionEnds: UTCTime, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(.web)
        try add(AccessToken(link: secret, name: name, options: options, sessionEnds: sessionEnds), at: now)
        return secret
    }

    /// Uses a link and begins a session. Both happen in one change of one list, so that a crash leaves either the link,
    /// or a session whose secret no browser has received.
    ///
    /// - Parameters:
    ///   - secret: secret of the session.
    ///   - link: the link whose secret the browser has sent.
    /// - Returns: the session; nil if the link was used or removed in the meantime.
    func beginSession(
        _ secret: AccessSecret, _ hash: SecretHash, with link: AccessToken, at now: UTCTime
    ) throws(AccessFault) -> AccessToken? {
        try edit { (editing) throws(AccessFault) in
            try editing.change { (tokens: inout AccessTokens) throws(AccessFault) in
                guard !tokens.remove(where: { $0 == link }).isEmpty else { return nil }
                Self.sweep(&tokens, at: now)
                var options = link.options
                options.expires = link.sessionEnds
                // Sessions have different names, so that the operator can remove one by name.
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
