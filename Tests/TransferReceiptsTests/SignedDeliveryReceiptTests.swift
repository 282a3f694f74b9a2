import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferReceipts

@Suite struct SignedDeliveryReceiptTests {
    static let names = [
        "a", "photos/2026/photo 1.jpg", "写真/😀.jpg", "quote\" backslash\\ slash/x", "\n\r\t\u{8}\u{C}\u{1}\u{7F}",
        "\u{202E}gpj.exe", "\u{2028}\u{85}\u{AD}", "e\u{301}", "{\"receipt\":{", "\",\"index\":1,\"", "}", "\u{FEFF}",
    ]

    @Test(arguments: names) func everyNameComesBack(_ name: String) throws {
        let receipt = try Sample.delivery(to: name, from: name, name: name)
        let signature = DeliveryBatch.sign([receipt], with: Sample.recipient)
        let line = try #require(DeliveryBatch.lines([receipt], signature: signature)?.first)
        #expect(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        let signed = try SignedDeliveryReceipt(json: line)
        #expect(signed.receipt == receipt && signed.jsonBytes == line)
        #expect(signed.receipt.name.string.utf8.elementsEqual(name.utf8))
        try ReceiptVerifier().verify(signed)
    }

    @Test(arguments: [(1, 0), (2, 0), (3, 2), (5, 4), (7, 3), (256, 199)])
    func noBitOfALineCanBeChanged(_ count: Int, _ number: Int) throws {
        let line = try Sample.signedDeliveries(count)[number].jsonBytes
        #expect(isGood(line))
        for index in line.indices {
            for bit in 0..<8 {
                var changed = line
                changed[index] ^= 1 << bit
                #expect(!isGood(changed), "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func noByteOfALineCanBeLostOrAdded() throws {
        let line = try Sample.signedDeliveries(3)[1].jsonBytes
        for index in line.indices {
            #expect(!isGood(Array(line[..<index])))
            var changed = line
            changed.remove(at: index)
            #expect(!isGood(changed), "without byte \(index)")
            changed = line
            changed.insert(UInt8(ascii: " "), at: index)
            #expect(!isGood(changed), "with a space at \(index)")
        }
        #expect(!isGood(line + [UInt8(ascii: " ")]) && !isGood(line + [UInt8(ascii: "\n")]) && !isGood(line + line))
    }

    /// Other spellings of the same JSON: signed text has only one.
    @Test func thereIsOneWayToWriteALine() throws {
        let line = try Sample.signedDeliveries(2)[0].json
        let spellings = [
            ("\"to\":\"bob\",\"from\":\"alice\"", "\"from\":\"alice\",\"to\":\"bob\""), ("\"bob\"", "\"\\u0062ob\""),
            ("\"size\":1", "\"size\":01"), ("\"size\":1", "\"size\":1.0"), ("\"size\":1", "\"size\":1e0"),
            ("photos/", "photos\\/"), ("\"recipient\":\"3d", "\"recipient\":\"3D"), (",\"index\":0", ",\"index\":00"),
            ("\"index\":0,\"treeSize\":2", "\"treeSize\":2,\"index\":0"), ("\"kind\":\"picture\",", ""),
            ("{\"version\":1,", "{\"version\":1,\"version\":1,"), (",\"server\"", ",\"more\":1,\"server\""),
        ]
        for (before, after) in spellings {
            let parts = line.split(separator: before, maxSplits: 1, omittingEmptySubsequences: false)
            #expect(parts.count == 2, "\(before)")
            #expect(!isRead(Array(parts.joined(separator: after).utf8)), "\(after)")
        }
    }

    @Test func aProofHasItsLimits() throws {
        let receipt = try Sample.delivery()
        func isRead(_ index: UInt32, of treeSize: UInt32, height: Int) -> Bool {
            let proof = ReceiptProof(
                index: index, treeSize: treeSize, inclusion: Array(repeating: Bytes32(), count: height),
                signature: [UInt8](repeating: 1, count: PublicKey.signatureSize))
            return self.isRead(SignedDeliveryReceipt(receipt, proof).jsonBytes)
        }
        #expect(isRead(0, of: 1, height: 0) && isRead(255, of: 256, height: 8))
        #expect(!isRead(1, of: 1, height: 0) && !isRead(0, of: 0, height: 0))
        #expect(!isRead(0, of: 257, height: 8) && !isRead(0, of: 256, height: 9))
    }

    /// The proof of another receipt in the batch must not verify this one.
    @Test func noProofCanBeBorrowed() throws {
        let batch = try Sample.signedDeliveries(7)
        let another = try Sample.signedDeliveries(8)[7]
        for (number, one) in batch.enumerated() {
            for (other, stranger) in (batch + [another]).enumerated() where other != number {
                try verifier.verify(one)
                let forged = SignedDeliveryReceipt(one.receipt, stranger.proof)
                #expect(throws: ReceiptFault.notSigned) { try verifier.verify(forged) }
            }
        }
    }

    /// The verifier remembers the roots of one kind of receipt; the other kind, signed by the same key, must not profit
    /// from that.
    @Test func theKindsAreApart() throws {
        let delivery = try Sample.delivery(recipient: Sample.key)
        let signature = DeliveryBatch.sign([delivery], with: Sample.identity)
        let signed = try #require(DeliveryBatch.signed([delivery], signature: signature)?.first)
        let upload = Sample.receipts(1)[0]
        let borrowed = SignedReceipt(
            upload.receipt, text: upload.text, index: 0, treeSize: 1, inclusion: [], signature: signature)
        // The root of one kind, presented as the root of the other kind.
        let posing = SignedReceipt(
            upload.receipt, text: signed.text, index: 0, treeSize: 1, inclusion: [], signature: signature)
        try verifier.verify(signed)
        for forged in [borrowed, posing] {
            #expect(throws: ReceiptFault.notSigned) { try verifier.verify(forged) }
        }
        try verifier.verify(upload)
        try verifier.verify(signed)
        #expect(throws: ReceiptFault.self) { try SignedReceipt(json: signed.jsonBytes) }
        #expect(throws: ReceiptFault.self) { try SignedDeliveryReceipt(json: upload.jsonBytes) }
    }

    @Test func aFileHasBothKinds() throws {
        let (upload, delivery) = (Sample.receipts(1)[0], try Sample.signedDeliveries(1)[0])
        guard case .upload(let first) = try KeptReceipt(json: upload.jsonBytes), first == upload else {
            return #expect(Bool(false), "no server's receipt")
        }
        guard case .delivery(let second) = try KeptReceipt(json: delivery.jsonBytes), second == delivery else {
            return #expect(Bool(false), "no delivery receipt")
        }
        let later = delivery.json.split(separator: "{\"version\":1,").joined(separator: "{\"version\":2,")
        #expect(throws: ReceiptFault.unknownVersion) { try KeptReceipt(json: Array(later.utf8)) }
        #expect(throws: ReceiptFault.unknownVersion) { try SignedDeliveryReceipt(json: Array(later.utf8)) }
        #expect(throws: ReceiptFault.self) { try KeptReceipt(json: []) }
    }

    @Test func randomBytesAreNoReceipt() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            let bytes = generator.bytes(Int.random(in: 0..<600, using: &generator))
            #expect(throws: ReceiptFault.self, "seed \(seed)") { try SignedDeliveryReceipt(json: bytes) }
        }
    }

    private let verifier = ReceiptVerifier()

    private func isRead(_ line: [UInt8]) -> Bool { (try? SignedDeliveryReceipt(json: line)) != nil }

    private func isGood(_ line: [UInt8]) -> Bool {
        guard let signed = try? SignedDeliveryReceipt(json: line) else { return false }
        return (try? verifier.verify(signed)) != nil
    }
}
