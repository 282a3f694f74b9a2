import TransferKeys
import TransferModel
import TransferProtocol

@testable import TransferReceipts

/// Receipts that many tests begin with.
enum Sample {
    /// The first key pair in section 7.1 of RFC 8032.
    static let identity = ServerIdentity(secret: secret)

    static let secret = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    static let key = ServerKey(bytes("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))

    static func bytes(_ hexadecimal: String) -> Bytes32 {
        guard let bytes = [UInt8](hexadecimal: hexadecimal).flatMap({ Bytes32($0) }) else {
            preconditionFailure("not 32 bytes: \(hexadecimal)")
        }
        return bytes
    }

    static func path(_ text: String) -> RelativePath {
        guard let path = try? RelativePath(text) else { preconditionFailure("not a path: \(text)") }
        return path
    }

    static func upload(_ number: Int, path text: String? = nil) -> ReceiptIssuer.Acknowledged {
        guard let id = UploadID(hexadecimal: "000000000000000a" + "00000000" + padded(number)) else {
            preconditionFailure("not an id: \(number)")
        }
        return ReceiptIssuer.Acknowledged(
            uploadID: id, path: path(text ?? "photos/\(number).png"), kind: .picture, size: UInt64(number),
            digest: Digest(.xxh128, [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16)),
            result: number % 3 == 0 ? .alreadyStored : .committed)
    }

    /// `count` receipts of one batch.
    static func receipts(_ count: Int, by identity: ServerIdentity = identity) -> [SignedReceipt] {
        ReceiptIssuer(identity, numbers: ReceiptNumbers())
            .issue((1...count).map { upload($0) }, sender: "[::1]:50000").signed
    }

    private static func padded(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
