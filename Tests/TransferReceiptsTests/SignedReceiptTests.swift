import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferReceipts

@Suite struct SignedReceiptTests {
    static let paths = [
        "a", "photos/2026/photo 1.jpg", "写真/😀.jpg", "quote\" backslash\\ slash/x", "\n\r\t\u{8}\u{C}\u{1}\u{7F}",
        "\u{202E}gpj.exe", "\u{2028}\u{85}\u{AD}", "e\u{301}", "{\"receipt\":{", "\",\"index\":1,\"",
        String(repeating: "\u{1}", count: 255)
            + String(repeating: "/" + String(repeating: "\u{1}", count: 255), count: 15),
    ]

    @Test(arguments: paths + OddNames.paths) func everyPathComesBack(_ path: String) throws {
        let issuer = ReceiptIssuer(Sample.identity, numbers: ReceiptNumbers())
        let batch = issuer.issue([Sample.upload(1, path: path)], sender: "unix\"\\\n")
        let signed = batch.signed(0)
        #expect(batch.encoded(0) == signed.encoded)
        #expect(try SignedReceipt(decoding: signed.encoded) == signed)
        let line = signed.jsonBytes
        #expect(line.count <= SignedReceipt.longestLine)
        #expect(line.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
        let again = try SignedReceipt(json: line)
        #expect(again == signed && again.receipt == signed.receipt)
        #expect(again.receipt.path.string.utf8.elementsEqual(path.utf8))
        try ReceiptVerifier().verify(again)
    }

    /// The format is fixed for ever: receipts outlive programs.
    @Test func theTextIsAsSpecified() {
        let receipt = Receipt(
            number: 1_767_225_600_000_000, uploadID: Sample.upload(1).uploadID,
            path: Sample.path("notes/\"hello\"\t.txt"),
            kind: .text, size: 5, digest: Digest(.sha256, Array(0..<32)), result: .committed, sender: "127.0.0.1:50000",
            time: ReceiptTime(clamping: 1_767_225_600_500), server: Sample.key)
        let expected =
            #"{"version":1,"number":1767225600000000,"uploadID":"000000000000000a0000000000000001","#
            + #""path":"notes/\"hello\"\t.txt","kind":"text","size":5,"#
            + #""digest":"sha256:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f","#
            + #""result":"committed","sender":"127.0.0.1:50000","time":"2026-01-01T00:00:00.500Z","#
            + #""server":"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"}"#
        #expect(String(decoding: receipt.text, as: UTF8.self) == expected)
    }

    @Test func whatIsSignedIsAsSpecified() {
        let message = SignedReceipt.signedMessage(treeSize: 4_000_000_000, root: Sample.secret)
        #expect(
            String(decoding: message, as: UTF8.self)
                == "transfer receipts 1\n4000000000\n9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n"
        )
    }

    @Test(arguments: [
        (1, 1), (2, 1), (3, 3), (5, 5), (7, 4), (256, 200),
    ]) func noBitOfALineCanBeChanged(_ count: Int, _ number: Int) {
        let line = Sample.receipts(count)[number - 1].jsonBytes
        #expect(isGood(line))
        for index in line.indices {
            for bit in 0..<8 {
                var changed = line
                changed[index] ^= 1 << bit
                #expect(!isGood(changed), "byte \(index), bit \(bit)")
            }
        }
    }

    @Test func noByteOfALineCanBeLostOrAdded() {
        let line = Sample.receipts(3)[1].jsonBytes
        for index in line.indices {
            #expect(!isGood(Array(line[..<index])))
            var changed = line
            changed.remove(at: index)
            #expect(!isGood(changed), "without byte \(index)")
            changed = line
            changed.insert(UInt8(ascii: " "), at: index)
            #expect(!isGood(changed), "with a space at \(index)")
        }
        #expect(!isGood(line + [UInt8(ascii: " ")]) && !isGood(line + line))
    }

    @Test func noBitOfTheBinaryFormCanBeChanged() {
        let bytes = Sample.receipts(6)[4].encoded
        let verifier = ReceiptVerifier()
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                #expect(throws: ReceiptFault.self, "byte \(index), bit \(bit)") {
                    try verifier.verify(SignedReceipt(decoding: changed))
                }
            }
            #expect(throws: ReceiptFault.self) { try SignedReceipt(decoding: Array(bytes[..<index])) }
        }
        #expect(throws: ReceiptFault.self) { try SignedReceipt(decoding: bytes + [0]) }
    }

    /// Every field, changed to another valid value.
    @Test func noFieldCanBeChanged() throws {
        let batch = Sample.receipts(5)
        let signed = batch[2]
        let other = ServerIdentity()
        let r = signed.receipt
        func changed(
            number: UInt64? = nil, id: UploadID? = nil, path: String? = nil, kind: ContentKind? = nil,
            size: UInt64? = nil,
            digest: Digest? = nil, result: ResultCode? = nil, sender: String? = nil, time: ReceiptTime? = nil,
            server: ServerKey? = nil
        ) -> Receipt {
            Receipt(
                number: number ?? r.number, uploadID: id ?? r.uploadID, path: path.map(Sample.path) ?? r.path,
                kind: kind ?? r.kind, size: size ?? r.size, digest: digest ?? r.digest, result: result ?? r.result,
                sender: sender ?? r.sender, time: time ?? r.time, server: server ?? r.server)
        }
        let verifier = ReceiptVerifier()
        try verifier.verify(signed)
        let all = [
            changed(number: r.number + 1), changed(id: Sample.upload(9).uploadID), changed(path: "photos/4.png"),
            changed(kind: .file), changed(size: r.size + 1),
            changed(digest: Digest(.xxh128, [UInt8](repeating: 1, count: 16))), changed(result: .committed),
            changed(sender: "other"), changed(time: ReceiptTime(clamping: r.time.milliseconds + 1)),
            changed(server: other.key),
        ]
        for receipt in all {
            let forged = SignedReceipt(
                receipt, text: receipt.text, index: signed.index, treeSize: signed.treeSize,
                inclusion: signed.inclusion, signature: signed.signature)
            #expect(try SignedReceipt(json: forged.jsonBytes) == forged)
            #expect(throws: ReceiptFault.notSigned, "\(receipt)") { try verifier.verify(forged) }
        }
    }

    /// The proof of another receipt in the batch must not verify this one.
    @Test func noProofCanBeBorrowed() throws {
        let batch = Sample.receipts(7)
        let (one, other) = (batch[2], batch[3])
        let verifier = ReceiptVerifier()
        try verifier.verify(one)
        try verifier.verify(other)
        let forgeries = [
            SignedReceipt(
                one.receipt, text: one.text, index: other.index, treeSize: 7, inclusion: other.inclusion,
                signature: one.signature),
            SignedReceipt(
                one.receipt, text: one.text, index: one.index, treeSize: 7, inclusion: other.inclusion,
                signature: one.signature),
            SignedReceipt(
                one.receipt, text: one.text, index: one.index, treeSize: 8, inclusion: one.inclusion,
                signature: one.signature),
            SignedReceipt(
                one.receipt, text: one.text, index: one.index, treeSize: 7, inclusion: one.inclusion.dropLast(),
                signature: one.signature),
            SignedReceipt(
                one.receipt, text: one.text, index: one.index, treeSize: 7, inclusion: one.inclusion + [Bytes32()],
                signature: one.signature),
            SignedReceipt(
                one.receipt, text: one.text, index: one.index, treeSize: 7, inclusion: one.inclusion,
                signature: Sample.receipts(7)[2].signature),
        ]
        for forged in forgeries { #expect(throws: ReceiptFault.notSigned) { try verifier.verify(forged) } }
    }

    @Test func anotherVersionIsSaidToBeOne() {
        let line = Sample.receipts(1)[0].json
        let later = Array(line.utf8.prefix(22)) + Array("2".utf8) + Array(line.utf8.dropFirst(23))
        #expect(throws: ReceiptFault.unknownVersion) { try SignedReceipt(json: later) }
        var bytes = Sample.receipts(1)[0].encoded
        bytes[0] = 2
        #expect(throws: ReceiptFault.unknownVersion) { try SignedReceipt(decoding: bytes) }
    }

    @Test func randomBytesAreNoReceipt() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SplitMix64(seed: seed)
        for _ in 0..<2_000 {
            let bytes = generator.bytes(Int.random(in: 0..<600, using: &generator))
            #expect(throws: ReceiptFault.self, "seed \(seed)") { try SignedReceipt(decoding: bytes) }
            #expect(throws: ReceiptFault.self, "seed \(seed)") { try SignedReceipt(json: bytes) }
        }
    }

    private let verifier = ReceiptVerifier()

    private func isGood(_ line: [UInt8]) -> Bool {
        do {
            try verifier.verify(SignedReceipt(json: line))
            return true
        } catch {
            return false
        }
    }
}
