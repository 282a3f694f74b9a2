import Testing
import TransferKeys
import TransferTestSupport

@Suite struct Base64Tests {
    @Test(arguments: [0, 1, 2, 3, 4, 767, 768, 769, 49_152]) func whatIsWrittenIsRead(_ count: Int) {
        let bytes = SplitMix64.bytes(seed: UInt64(count), count)
        let text = Base64.encode(bytes)
        #expect(Base64.decode(text, longest: 65_536) == (bytes.isEmpty ? nil : bytes))
        #expect(Base64.decode(text) == (bytes.isEmpty || text.utf8.count > 1024 ? nil : bytes))
    }

    @Test(arguments: ["a", "a===", "aG Vs", "aGVs\n", "aGV_", "bG9=", "=", "====", "aGVs=", "aé=="])
    func faults(_ text: String) {
        #expect(Base64.decode(text, longest: 65_536) == nil)
    }
}
