import Testing
import TransferKeys
import TransferModel
import TransferProtocol

@testable import TransferReceipts

@Suite struct DeliveryBatchTests {
    @Test(arguments: [1, 2, 3, 5, 8, 255, 256]) func theServerKeepsWhatTheRecipientSigned(_ count: Int) throws {
        let receipts = try Sample.deliveries(count)
        let signature = DeliveryBatch.sign(receipts, with: Sample.recipient)
        #expect(signature.count == SettleRequest.signatureSize)
        let lines = try #require(DeliveryBatch.lines(receipts, signature: signature))
        #expect(lines.count == count)
        let verifier = ReceiptVerifier()
        for (number, line) in lines.enumerated() {
            let signed = try SignedDeliveryReceipt(json: line)
            #expect(signed.receipt == receipts[number] && signed.jsonBytes == line && Array(signed.json.utf8) == line)
            #expect(signed.index == number && signed.treeSize == count)
            // Verified alone, and with the results of earlier verifications.
            try ReceiptVerifier().verify(signed)
            try verifier.verify(signed)
        }
    }

    /// Whatever the names are, a receipt fits into the server's lists.
    @Test func noLineIsLongerThanItMayBe() throws {
        let name = String(repeating: "\u{1}", count: 170)
        let path = Array(repeating: String(repeating: "\u{1}", count: 170), count: 4).joined(separator: "/")
        let tree = Digest(.sha256Tree, [UInt8](repeating: 0xFF, count: 32))
        let longest = try Sample.delivery(
            to: name, from: name, name: path, kind: .location, size: Limits.uploadSize, digest: tree, time: .max)
        let receipts = Array(repeating: longest, count: DeliveryBatch.most)
        let signature = DeliveryBatch.sign(receipts, with: Sample.recipient)
        let lines = try #require(DeliveryBatch.lines(receipts, signature: signature))
        for line in lines {
            #expect(line.count <= ListedDelivery.receiptSize && line.count > 6_500)
            #expect(try SignedDeliveryReceipt(json: line).receipt == longest)
        }
    }

    @Test func nothingIsKeptThatIsNotSigned() throws {
        let receipts = try Sample.deliveries(4)
        let signature = DeliveryBatch.sign(receipts, with: Sample.recipient)
        func isKept(_ receipts: [DeliveryReceipt], _ signature: [UInt8]) -> Bool {
            DeliveryBatch.lines(receipts, signature: signature) != nil
        }
        #expect(isKept(receipts, signature))
        #expect(!isKept([], signature) && !isKept(receipts, []) && !isKept(receipts, signature + [0]))
        #expect(!isKept(receipts, Array(signature.dropLast())))
        #expect(!isKept(Array(receipts.dropLast()), signature) && !isKept(receipts + receipts, signature))
        #expect(!isKept(receipts.reversed(), signature))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!isKept(receipts, changed), "byte \(index)")
        }
        // Another client's signature of the same receipts.
        let other = KeyPair()
        let own = try [Sample.delivery(recipient: other.key)]
        #expect(!isKept(own, DeliveryBatch.sign([try Sample.delivery()], with: Sample.recipient)))
        #expect(!isKept([try Sample.delivery()], DeliveryBatch.sign(own, with: other)))
    }

    /// A batch with receipts of two recipients.
    @Test func aBatchIsOfOneRecipient() throws {
        let receipts = [try Sample.delivery(), try Sample.delivery(recipient: Sample.key)]
        for (order, key) in [(receipts, Sample.recipient), (receipts.reversed(), Sample.identity)] {
            #expect(DeliveryBatch.lines(order, signature: Self.sign(order, .deliveries, key)) == nil)
            #expect(DeliveryBatch.lines([order[0]], signature: Self.sign([order[0]], .deliveries, key)) != nil)
        }
    }

    /// Signs without the checks of `DeliveryBatch`.
    private static func sign(_ receipts: [DeliveryReceipt], _ subject: ReceiptSubject, _ key: KeyPair) -> [UInt8] {
        let hasher = TreeHasher()
        let tree = MerkleTree(receipts.map { hasher.leaf($0.text) }, hasher)
        return key.sign(TreeHead(size: UInt32(receipts.count), root: tree.root).message(subject))
    }

    @Test func moreThanAFrameNamesAreNotOneBatch() throws {
        let receipts = try Sample.deliveries(257)
        #expect(DeliveryBatch.lines(receipts, signature: Self.sign(receipts, .deliveries, Sample.recipient)) == nil)
    }

    /// A signature that a key makes as a server differs from one that it makes as a recipient.
    @Test func aServersSignatureIsNoRecipients() throws {
        let receipts = try Sample.deliveries(2)
        #expect(DeliveryBatch.lines(receipts, signature: Self.sign(receipts, .uploads, Sample.recipient)) == nil)
        #expect(DeliveryBatch.lines(receipts, signature: Self.sign(receipts, .deliveries, Sample.recipient)) != nil)
    }

    /// Every field, changed to another valid value.
    @Test func noPartCanBeChanged() throws {
        let signature = DeliveryBatch.sign([try Sample.delivery()], with: Sample.recipient)
        #expect(DeliveryBatch.lines([try Sample.delivery()], signature: signature) != nil)
        let changed = try [
            Sample.delivery(id: Sample.upload(2).uploadID), Sample.delivery(to: "Bob"),
            Sample.delivery(from: "mallory"), Sample.delivery(name: "photo.jpg"), Sample.delivery(kind: .file),
            Sample.delivery(size: 6), Sample.delivery(digest: Digest(.xxh128, [UInt8](repeating: 2, count: 16))),
            Sample.delivery(time: 1_767_225_600_501), Sample.delivery(recipient: Sample.key),
            Sample.delivery(server: nil),
        ]
        for receipt in changed { #expect(DeliveryBatch.lines([receipt], signature: signature) == nil, "\(receipt)") }
    }
}
