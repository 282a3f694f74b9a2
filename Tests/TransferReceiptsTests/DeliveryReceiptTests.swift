import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferReceipts

@Suite struct DeliveryReceiptTests {
    /// The format is fixed for ever: receipts outlive programs.
    @Test func theTextIsAsSpecified() throws {
        let id = try #require(UploadID(hexadecimal: "00112233445566778899aabbccddeeff"))
        let receipt = try Sample.delivery(
            id: id, to: "b\"b", from: "al\nice", name: "notes/\"hello\"\t.txt", kind: .text, size: 5,
            digest: Digest(.sha256, Array(0..<32)), server: nil)
        let expected =
            #"{"version":1,"delivery":"00112233445566778899aabbccddeeff","to":"b\"b","from":"al\nice","#
            + #""name":"notes/\"hello\"\t.txt","kind":"text","size":5,"#
            + #""digest":"sha256:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f","#
            + #""time":"2026-01-01T00:00:00.500Z","#
            + #""recipient":"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c","#
            + #""server":"0000000000000000000000000000000000000000000000000000000000000000"}"#
        #expect(String(decoding: receipt.text, as: UTF8.self) == expected)
    }

    @Test func whatIsSignedIsAsSpecified() {
        let head = TreeHead(size: 256, root: Sample.secret)
        let rest = "256\n9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n"
        #expect(String(decoding: head.message(.deliveries), as: UTF8.self) == "transfer deliveries 1\n" + rest)
        #expect(String(decoding: head.message(.uploads), as: UTF8.self) == "transfer receipts 1\n" + rest)
    }

    /// `é` as one scalar and as two: equal strings, but different names.
    @Test func equivalentNamesAreDifferentNames() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        #expect(one == two)
        for (a, b) in [
            (try Sample.delivery(to: one), try Sample.delivery(to: two)),
            (try Sample.delivery(from: one), try Sample.delivery(from: two)),
            (try Sample.delivery(name: one), try Sample.delivery(name: two)),
        ] {
            #expect(a != b && a == a && a.hashValue != b.hashValue)
            let signature = DeliveryBatch.sign([a], with: Sample.recipient)
            #expect(DeliveryBatch.lines([b], signature: signature) == nil)
            #expect(DeliveryBatch.lines([a], signature: signature) != nil)
        }
    }

    /// Every name is read back from a line of a file.
    @Test(arguments: OddNames.paths) func everyNameComesBack(_ name: String) throws {
        let person = OddNames.components.contains(name) && name.utf8.count < 64 ? name : "bob"
        let receipt = try Sample.delivery(to: person, from: person, name: name)
        let signature = DeliveryBatch.sign([receipt], with: Sample.recipient)
        let signed = try #require(DeliveryBatch.signed([receipt], signature: signature)?.first)
        let line = signed.jsonBytes
        #expect(!line.contains(UInt8(ascii: "\n")))
        #expect(try SignedDeliveryReceipt(json: line).receipt == receipt)
    }

    @Test func aNameHasItsLimitAsItIsWritten() throws {
        let most = DeliveryReceipt.longestName
        // The second text takes two bytes for each character.
        for text in [String(repeating: "x", count: most), String(repeating: "\"", count: most / 2)] {
            _ = try Sample.delivery(to: text, from: text)
            #expect(throws: ReceiptFault.self) { try Sample.delivery(to: text + "x") }
            #expect(throws: ReceiptFault.self) { try Sample.delivery(from: text + "x") }
        }
        #expect(throws: ReceiptFault.self) { try Sample.delivery(to: "") }
        #expect(throws: ReceiptFault.self) { try Sample.delivery(from: "") }
    }

    @Test func aPathHasItsLimitAsItIsWritten() throws {
        // A name without escapes is never too long, up to the longest path.
        let plain = String(repeating: String(repeating: "é", count: 127) + "x/", count: 15)
        let longest = plain + String(repeating: "x", count: Limits.path - plain.utf8.count)
        #expect(longest.utf8.count == Limits.path)
        _ = try Sample.delivery(name: longest)
        // JSON escapes each control character as six bytes. With its escapes this name has 4,096 bytes, the limit.
        let component = String(repeating: "\u{1}", count: 255)
        let escaped = "\(component)/\(component)/" + String(repeating: "\u{1}", count: 172) + "/x"
        _ = try Sample.delivery(name: escaped)
        #expect(JSONValue.string(escaped).text.utf8.count - 2 == 6 * 682 + 4)
        #expect(throws: ReceiptFault.malformed("too long a name")) { try Sample.delivery(name: escaped + "x") }
    }

    @Test func thereIsNoReceiptOfWhatCannotBe() throws {
        #expect(throws: ReceiptFault.malformed("no delivery ID")) { try Sample.delivery(id: .none) }
        #expect(throws: ReceiptFault.malformed("no recipient's key")) {
            try Sample.delivery(recipient: PublicKey(Bytes32()))
        }
        #expect(throws: ReceiptFault.self) { try Sample.delivery(size: Limits.uploadSize + 1) }
        let block = UInt64(Limits.blockSize)
        let tree = Digest(.xxh128Tree, [UInt8](repeating: 1, count: 16))
        _ = try Sample.delivery(size: block)
        _ = try Sample.delivery(size: Limits.uploadSize, digest: tree)
        #expect(throws: ReceiptFault.self) { try Sample.delivery(size: block + 1) }
        #expect(throws: ReceiptFault.self) { try Sample.delivery(size: block, digest: tree) }
    }
}
