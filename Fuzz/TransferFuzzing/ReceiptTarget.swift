import TransferKeys
import TransferModel
import TransferReceipts

/// Input: task (1 byte), then the rest.
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

    /// A verifier that has verified other receipts gives equal results to a new one.
    private static func readLines(_ input: inout FuzzInput) throws(Finding) {
        let verifier = ReceiptVerifier()
        while !input.isEmpty {
            let line = input.upTo(UInt8(ascii: "\n"))
            guard let receipt = try? KeptReceipt(json: line) else { continue }
            try require(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "A line has control characters.")
            let (isGood, isGoodAlone) =
                switch receipt {
                case .upload(let signed): try readLine(line, signed, verifier)
                case .delivery(let signed): try readLine(line, signed, verifier)
                }
            try require(isGood == isGoodAlone, "What was verified before matters.")
        }
    }

    private static func readLine(
        _ line: [UInt8], _ signed: SignedReceipt, _ verifier: ReceiptVerifier
    ) throws(Finding) -> (Bool, Bool) {
        try require(signed.jsonBytes == line, "A receipt has two lines.")
        guard let again = try? SignedReceipt(decoding: signed.encoded) else {
            throw Finding("A receipt cannot be read from its binary form.")
        }
        try require(again == signed, "A receipt comes back from its binary form as another.")
        return ((try? verifier.verify(signed)) != nil, (try? ReceiptVerifier().verify(signed)) != nil)
    }

    private static func readLine(
        _ line: [UInt8], _ signed: SignedDeliveryReceipt, _ verifier: ReceiptVerifier
    ) throws(Finding) -> (Bool, Bool) {
        try require(signed.jsonBytes == line, "A delivery receipt has two lines.")
        let receipt = signed.receipt
        let again = try? DeliveryReceipt(
            delivery: receipt.delivery, to: receipt.to, from: receipt.from, name: receipt.name, kind: receipt.kind,
            size: receipt.size, digest: receipt.digest, time: receipt.time, recipient: receipt.recipient,
            server: receipt.server)
        try require(again == receipt, "A delivery receipt says what none can say.")
        return ((try? verifier.verify(signed)) != nil, (try? ReceiptVerifier().verify(signed)) != nil)
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

    /// The seed of the first key pair in section 7.1 of RFC 8032.
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

    /// Delivery receipts that the key's owner signs as a recipient.
    private static let settled: [SignedDeliveryReceipt] = {
        guard let secret = Bytes32(secret), let name = try? RelativePath("photos/a.png") else { return [] }
        let key = KeyPair(secret: secret)
        let receipts = (1...5).compactMap { number in
            try? DeliveryReceipt(
                delivery: UploadID(high: 1, low: number), to: "bob", from: "alice", name: name, kind: .picture,
                size: number, digest: Digest(.xxh128, [UInt8](repeating: 3, count: 16)),
                time: ReceiptTime(clamping: number), recipient: key.key, server: key.key)
        }
        return DeliveryBatch.signed(receipts, signature: DeliveryBatch.sign(receipts, with: key)) ?? []
    }()

    /// A receipt with bytes that were changed, or taken from another receipt of the batch, is not accepted. The first
    /// byte decides which receipt, and of which kind.
    private static func forge(_ input: inout FuzzInput) throws(Finding) {
        let (kind, other) = (input.byte(), Int(input.byte()))
        guard kind & 0x80 == 0 else { return try forgeDelivery(Int(kind & 0x7F), other, &input) }
        let original = issued[Int(kind) % issued.count]
        let forged = changed(original.encoded, issued[other % issued.count].encoded, &input)
        guard let signed = try? SignedReceipt(decoding: forged), !issued.contains(signed) else { return }
        let verifier = ReceiptVerifier()
        if input.isEmpty { try? verifier.verify(original) }
        let isGood = (try? verifier.verify(signed)) != nil
        try require(!isGood, "A forged receipt was verified: \(signed.json)")
    }

    private static func forgeDelivery(_ number: Int, _ other: Int, _ input: inout FuzzInput) throws(Finding) {
        let original = settled[number % settled.count]
        let forged = changed(original.jsonBytes, settled[other % settled.count].jsonBytes, &input)
        guard let signed = try? SignedDeliveryReceipt(json: forged), !settled.contains(signed) else { return }
        let verifier = ReceiptVerifier()
        try? verifier.verify(original)
        let isGood = (try? verifier.verify(signed)) != nil || (try? ReceiptVerifier().verify(signed)) != nil
        try require(!isGood, "A forged delivery receipt was verified: \(signed.json)")
    }

    private static func changed(_ bytes: [UInt8], _ other: [UInt8], _ input: inout FuzzInput) -> [UInt8] {
        var forged = bytes
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
        return forged
    }
}
