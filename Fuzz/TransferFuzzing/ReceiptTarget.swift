import TransferKeys
import TransferModel
import TransferReceipts

/// Input: what to do (1 byte), the rest.
enum ReceiptTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        switch input.byte() % 4 {
        case 0: try readBinary(input.rest())
        case 1: try readLines(&input)
        case 2: try readKey(input.rest())
        default: try forge(&input)
        }
    }

    private static func readBinary(_ bytes: [UInt8]) throws(Finding) {
        guard let signed = try? SignedReceipt(decoding: bytes) else { return }
        try require(signed.encoded == bytes, "A receipt has two binary forms.")
        guard let again = try? SignedReceipt(json: signed.jsonBytes) else {
            throw Finding("A receipt cannot be read from its line.")
        }
        try require(again == signed && again.encoded == bytes, "A receipt comes back from its line as another.")
        _ = try? ReceiptVerifier().verify(signed)
    }

    /// A verifier that has seen other receipts says the same as a new one.
    private static func readLines(_ input: inout FuzzInput) throws(Finding) {
        let verifier = ReceiptVerifier()
        while !input.isEmpty {
            let line = input.upTo(UInt8(ascii: "\n"))
            guard let signed = try? SignedReceipt(json: line) else { continue }
            try require(signed.jsonBytes == line, "A receipt has two lines.")
            try require(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "A line has control characters.")
            guard let again = try? SignedReceipt(decoding: signed.encoded) else {
                throw Finding("A receipt cannot be read from its binary form.")
            }
            try require(again == signed, "A receipt comes back from its binary form as another.")
            let isGood = (try? verifier.verify(signed)) != nil
            try require(
                isGood == ((try? ReceiptVerifier().verify(signed)) != nil), "What was verified before matters.")
        }
    }

    private static func readKey(_ bytes: [UInt8]) throws(Finding) {
        guard let text = String(validating: bytes, as: UTF8.self), let pattern = KeyPattern(text) else { return }
        switch pattern {
        case .fingerprint(let fingerprint):
            try require(KeyPattern(fingerprint) == pattern, "A fingerprint is not read again.")
        case .key(let key):
            try require(KeyPattern(key.hexadecimal) == pattern && pattern.matches(key), "A key is not read again.")
            try require(KeyPattern(key.fingerprint)?.matches(key) == true, "A key doesn't match its fingerprint.")
        }
    }

    /// The seed of the first key pair that RFC 8032 gives in section 7.1.
    private static let secret: [UInt8] = [
        0x9D, 0x61, 0xB1, 0x9D, 0xEF, 0xFD, 0x5A, 0x60, 0xBA, 0x84, 0x4A, 0xF4, 0x92, 0xEC, 0x2C, 0xC4,
        0x44, 0x49, 0xC5, 0x69, 0x7B, 0x32, 0x69, 0x19, 0x70, 0x3B, 0xAC, 0x03, 0x1C, 0xAE, 0x7F, 0x60,
    ]

    private static let issued: [SignedReceipt] = {
        guard let secret = Bytes32(secret), let path = try? RelativePath("photos/a.png") else { return [] }
        let uploads = (1...5).map { number in
            ReceiptIssuer.Acknowledged(
                uploadID: UploadID(high: 1, low: number), path: path, kind: .picture, size: number,
                digest: Digest(.xxh128, [UInt8](repeating: 3, count: 16)), result: .committed)
        }
        let issuer = ReceiptIssuer(ServerIdentity(secret: secret), numbers: ReceiptNumbers())
        return issuer.issue(uploads, sender: "[::1]:50000").signed
    }()

    /// A receipt of a batch, with some bytes taken from another one or changed, is not accepted.
    private static func forge(_ input: inout FuzzInput) throws(Finding) {
        let original = issued[Int(input.byte()) % issued.count]
        let other = issued[Int(input.byte()) % issued.count].encoded
        var forged = original.encoded
        while !input.isEmpty {
            let (offset, length, change) = (Int(input.integer(UInt16.self)), Int(input.byte()), input.byte())
            guard offset < min(forged.count, other.count) else { continue }
            if change == 0 {
                let range = offset..<min(forged.count, other.count, offset + length)
                forged.replaceSubrange(range, with: other[range])
            } else {
                forged[offset] ^= change
            }
        }
        guard let signed = try? SignedReceipt(decoding: forged), !issued.contains(signed) else { return }
        let verifier = ReceiptVerifier()
        if input.isEmpty { try? verifier.verify(original) }
        let isGood = (try? verifier.verify(signed)) != nil
        try require(!isGood, "A forged receipt was verified: \(signed.json)")
    }
}
