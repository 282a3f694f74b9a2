import TransferModel

@testable import TransferKeys

/// Keys that many tests begin with.
enum Sample {
    /// The first key in section 7.1 of RFC 8032.
    static let key = PublicKey(bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))

    static func bytes(_ hexadecimal: String) -> Bytes32 {
        guard let bytes = [UInt8](hexadecimal: hexadecimal).flatMap({ Bytes32($0) }) else {
            preconditionFailure("not 32 bytes: \(hexadecimal)")
        }
        return bytes
    }
}
