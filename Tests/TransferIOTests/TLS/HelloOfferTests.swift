import Testing

@testable import TransferIO

@Suite struct HelloOfferTests {
    @Test(
        arguments: [
            ([], []), ([0, 0], []), ([0, 3, 2, 0x68, 0x32], [[0x68, 0x32]]),
            ([0, 5, 1, 0x61, 2, 0x62, 0x63], [[0x61], [0x62, 0x63]]),
            // A cut or empty list is read as far as it goes.
            ([0], []), ([0, 9, 200, 0x61], [[0x61]]), ([0, 2, 0, 0], [[], []]),
        ] as [([UInt8], [[UInt8]])])
    func protocols(_ bytes: [UInt8], _ names: [[UInt8]]) {
        #expect(HelloOffer(protocols: bytes, algorithms: []).protocols == names)
    }

    @Test(
        arguments: [
            ([], false), ([0, 2, 8, 7], true), ([0, 4, 4, 3, 8, 7], true), ([0, 2, 4, 3], false),
            // Half a pair, and a pair across two others.
            ([0, 1, 8], false), ([0, 4, 4, 8, 7, 3], false),
        ] as [([UInt8], Bool)])
    func algorithms(_ bytes: [UInt8], _ knowsEd25519: Bool) {
        #expect(HelloOffer(protocols: [], algorithms: bytes).knowsEd25519 == knowsEd25519)
    }

    @Test func namesAreComparedAsBytes() {
        let offer = HelloOffer(protocols: [0, 9, 8] + Array("http/1.1".utf8), algorithms: [])
        #expect(offer.offers(anyOf: ["h2", "http/1.1"]) && !offer.offers(anyOf: ["HTTP/1.1", "http/1"]))
    }
}
