import TransferKeys
package import TransferModel

extension AccessFolder {
    /// How long a pairing code is good for: ten minutes, enough to walk to the other machine.
    package static let pairingSeconds: Int64 = 600

    /// Numbers that are tried behind a name that is taken; names leave room for so many digits.
    private static let mostNumbers = 9_999_999

    /// Admits a client by its key.
    ///
    /// - Throws: a sentence, also when the key is there already.
    package func admit(_ key: AuthorizedKey) throws(AccessFault) {
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.keysName, of: AuthorizedKey.self) { (keys) throws(AccessFault) in
                try keys.append(key)
            }
        }
    }

    /// Takes out keys.
    ///
    /// - Returns: those that it took out.
    package func expel(where condition: (AuthorizedKey) -> Bool) throws(AccessFault) -> [AuthorizedKey] {
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.keysName, of: AuthorizedKey.self) { $0.remove(where: condition) }
        }
    }

    /// Makes a token or a pairing code. What nobody can use any more is cleared away, but for tokens.
    ///
    /// - Returns: what its owner is to be shown, once.
    package func issue(
        _ kind: AccessSecret.Kind, name: String, options: AccessOptions, at now: UTCTime
    ) throws(AccessFault) -> AccessSecret {
        let secret = AccessSecret.random(kind)
        let token = AccessToken(secret, name: name, options: options)
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.tokensName, of: AccessToken.self) { (tokens) throws(AccessFault) in
                Self.sweep(&tokens, at: now)
                try tokens.append(token)
            }
        }
        return secret
    }

    /// Takes out tokens.
    ///
    /// - Returns: those that it took out.
    package func revoke(where condition: (AccessToken) -> Bool) throws(AccessFault) -> [AccessToken] {
        try edit { (editing) throws(AccessFault) in
            try editing.change(Self.tokensName, of: AccessToken.self) { $0.remove(where: condition) }
        }
    }

    /// Uses a pairing code up, and admits the key with what the code allows.
    ///
    /// The code goes first: what is lost in a crash between the two is a code, never the promise that it works once.
    ///
    /// - Parameters:
    ///   - code: whose secret was shown.
    ///   - name: what the client calls itself; changed until nobody else has it.
    ///   - isReserved: whether a name that is in no list is somebody's all the same.
    /// - Returns: the entry; nothing when the code was used, removed or replaced meanwhile.
    func enrol(
        _ key: PublicKey, named name: String, with code: AccessToken, isReserved: (String) -> Bool = { _ in false }
    ) throws(AccessFault) -> AuthorizedKey? {
        try edit { (editing) throws(AccessFault) in
            let used = try editing.change(Self.tokensName, of: AccessToken.self) { tokens in
                tokens.remove { $0 == code }
            }
            guard !used.isEmpty else { return nil }
            var options = code.options
            options.expires = nil
            let tokens = try list(Self.tokensName, of: AccessToken.self).entries.map(\.name)
            return try editing.change(Self.keysName, of: AuthorizedKey.self) { (keys) throws(AccessFault) in
                // It is here only if its access has expired.
                _ = keys.remove { $0.key == key }
                let entry = AuthorizedKey(key, name: Self.unused(name, in: keys, tokens, isReserved), options: options)
                try keys.append(entry)
                return entry
            }
        }
    }

    /// Tokens are clients, too.
    private static func unused(
        _ name: String, in keys: AuthorizedKeys, _ tokens: [String], _ isReserved: (String) -> Bool
    ) -> String {
        let own = [Grant.ownersName, Grant.everyonesName]
        let taken = Set((keys.entries.map(\.name) + tokens + own).map { PathKey($0) })
        // One of them is free: no list is as long.
        let names = (1...mostNumbers).lazy.map { $0 == 1 ? name : "\(name) \($0)" }
        return names.first { !taken.contains(PathKey($0)) && !isReserved($0) } ?? name
    }
}
