import TransferAccess
import TransferCodec
import TransferKeys
import TransferModel

/// What tells one client from all others in the catalog: names may be the same, and change.
enum ClientID {
    /// - Returns: nothing for clients that cannot be told apart. The owner's key is the same client when it is in the list.
    static func make(_ source: Grant.Source) -> UInt64? {
        let text: [UInt8]
        switch source {
        case .key(let key), .owner(let key): text = Array("transfer client key ".utf8) + key.raw.bytes
        case .token(let id): text = Array("transfer client token \(id)".utf8)
        case .everyone: return nil
        }
        return text.withUnsafeBytes { bytes in
            BlockHasher.digest(.sha256, bytes).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self).bigEndian }
        }
    }
}
