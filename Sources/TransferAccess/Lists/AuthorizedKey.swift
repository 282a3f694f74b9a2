package import TransferKeys
import TransferModel

/// A client that is let in by its key: `[OPTIONS] ed25519 KEY NAME`, with the 32 bytes of the key in base64.
package struct AuthorizedKey: AccessEntry {
    package static let kinds = [kind: 1]

    private static let kind = "ed25519"

    package let key: PublicKey
    package let name: String
    package let options: AccessOptions

    package init(_ key: PublicKey, name: String, options: AccessOptions = AccessOptions()) {
        self.key = key
        self.name = name
        self.options = options
    }

    package init(_ line: AccessLine) throws(AccessFault) {
        guard let key = Base64.decode(line.fields[0]).flatMap({ PublicKey($0) }) else {
            throw AccessFault("'\(line.fields[0].escapedForDisplay)' is not a key")
        }
        self.init(key, name: line.name, options: line.options)
    }

    /// Reads one line as a client's owner gives it.
    ///
    /// - Throws: a phrase.
    package init(line: String) throws(AccessFault) {
        try self.init(AccessLine(line.utf8, kinds: Self.kinds))
    }

    package var id: PublicKey { key }

    package var fields: [String] { [Self.kind, Base64.encode(key.raw.bytes)] }
}

/// `DIR/.transfer/authorized_keys`.
package typealias AuthorizedKeys = AccessList<AuthorizedKey>
