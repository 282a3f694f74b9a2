import Testing
import TransferKeys
import TransferModel
import TransferTestSupport

@testable import TransferAccess

@Suite struct TransferLinkTests {
    @Test(arguments: ["nas.local", "192.0.2.1", "2001:db8::1", "a", "x-1_y"]) func readsWhatItWrites(_ host: String)
        throws
    {
        let code = AccessSecret.random(.pairing)
        for folder in [nil, Sample.path("a b/ü'\"$`\\#,%=&\n/c")] {
            let made = try #require(
                TransferLink(host: host, port: 99, folder: folder, code: code, server: KeyFingerprint(of: Sample.key)))
            #expect(try TransferLink(made.text) == made)
            #expect(made.fingerprint?.description == Sample.key.fingerprint)
            #expect(!made.description.contains(code.secret))
            let allowed = "-._~:/[]%#=,"
            #expect(made.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || allowed.contains($0) })
        }
    }

    @Test func whatMayBeMissing() throws {
        let link = try TransferLink("transfer://nas")
        #expect(link.host == "nas" && link.port == 5288 && link.folder == nil && link.code == nil)
        #expect(link.fingerprint == nil && link.text == "transfer://nas:5288")
        #expect(try TransferLink("transfer://[::1]/in/#").folder?.string == "in")
    }

    @Test(arguments: [
        "", "transfer://", "http://nas", "transfer://:1", "transfer://[::1", "transfer://::1", "transfer://[nas]",
        "transfer://nas:", "transfer://nas:0", "transfer://nas:65536", "transfer://nas:+1", "transfer://nas:1x",
        "transfer://a@b", "transfer://-x", "transfer://n%61s", "transfer://nas/../x", "transfer://nas/.transfer",
        "transfer://nas/%", "transfer://nas/%2", "transfer://nas/%zz", "transfer://nas/%00", "transfer://nas/%ff",
        "transfer://nas#code=", "transfer://nas#code=pair_1_2", "transfer://nas#key=AAAA", "transfer://nas#x=1",
        "transfer://nas#key", "transfer://[fe80::1%25eth0]", "transfer://nas\n", "transfer://näs",
    ]) func nothingElse(_ text: String) {
        #expect(throws: TransferLink.Fault.self) { try TransferLink(text) }
    }

    @Test func tokensAreNoPartOfIt() {
        let token = AccessSecret.random(.token)
        #expect(throws: TransferLink.Fault.token) { try TransferLink("transfer://nas#code=\(token.text)") }
        #expect(TransferLink(host: "nas", port: 1, code: token) == nil)
    }

    @Test func aFieldComesOnce() throws {
        let code = AccessSecret.random(.pairing).text
        #expect(throws: TransferLink.Fault.self) { try TransferLink("transfer://nas#code=\(code),code=\(code)") }
    }

    @Test(arguments: 0..<10) func damagedLinksDoNoHarm(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let link = TransferLink(
            host: "2001:db8::1", port: 9, folder: Sample.path("ä b"), code: .random(.pairing),
            server: KeyFingerprint(of: Sample.key))
        let text = Array(try #require(link).text.utf8)
        for _ in 0..<500 {
            var bytes = text
            bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...127, using: &random)
            if let read = try? TransferLink(String(decoding: bytes, as: UTF8.self)) {
                #expect(try TransferLink(read.text) == read, "seed \(seed)")
            }
        }
    }
}
