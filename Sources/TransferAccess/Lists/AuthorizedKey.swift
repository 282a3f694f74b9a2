package import TransferKeys
import TransferModel

/// A client admitted by its key: `[OPTIONS] ed25519 KEY NAME`, with the 32 bytes of the key in Base64.
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

    /// Reads one line that a client's owner has given.
    ///
    /// - Throws: a phrase about the fault.
    package init(line: String) throws(AccessFault) {
        try self.init(AccessLine(line.utf8, kinds: Self.kinds))
    }

    package var id: PublicKey { key }

    package var fields: [String] { [Self.kind, Base64.encode(key.raw.bytes)] }
}

/// Contents of `DIR/.transfer/authorized_keys`, one entry a line.
package typealias AuthorizedKeys = AccessList<AuthorizedKey>
