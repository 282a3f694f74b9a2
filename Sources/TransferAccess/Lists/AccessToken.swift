import TransferModel

/// A secret that lets a client in, as the server keeps it: `[OPTIONS] token ID HASH NAME`, or `pairing` for one that
/// enrols the key of a client once.
package struct AccessToken: AccessEntry {
    package static let kinds = ["token": 2, "pairing": 2]

    package let kind: AccessSecret.Kind
    package let id: String
    package let hash: SecretHash
    package let name: String
    package let options: AccessOptions

    /// Hashes a new secret, which takes some 70 ms.
    package init(_ secret: AccessSecret, name: String, options: AccessOptions) {
        (kind, id, hash) = (secret.kind, secret.id, SecretHash(of: secret))
        (self.name, self.options) = (name, options)
    }

    package init(_ line: AccessLine) throws(AccessFault) {
        kind = line.kind == "pairing" ? .pairing : .token
        id = line.fields[0]
        guard AccessSecret.isID(id) else { throw AccessFault("'\(id.escapedForDisplay)' is not the id of a token") }
        guard let hash = SecretHash(line.fields[1]) else { throw AccessFault("its hash cannot be read") }
        self.hash = hash
        (name, options) = (line.name, line.options)
    }

    package var fields: [String] { [kind == .pairing ? "pairing" : "token", id, hash.description] }
}

/// `DIR/.transfer/tokens`.
package typealias AccessTokens = AccessList<AccessToken>
