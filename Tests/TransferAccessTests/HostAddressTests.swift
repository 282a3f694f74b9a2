import Testing

@testable import TransferAccess

@Suite struct HostAddressTests {
    @Test(
        arguments: [
            ([192, 168, 1, 2], true), ([8, 8, 8, 8], true), ([127, 0, 0, 1], false), ([0, 0, 0, 0], false),
            ([169, 254, 1, 1], false), ([224, 0, 0, 1], false), ([], false),
            ([0x20, 1] + Array(repeating: 0, count: 14), true), ([0xFD, 1] + Array(repeating: 0, count: 14), true),
            ([0xFE, 0x80] + Array(repeating: 0, count: 14), false), (Array(repeating: 0, count: 15) + [1], false),
            ([0xFF, 2] + Array(repeating: 0, count: 14), false),
        ] as [([UInt8], Bool)]) func whatOthersCanReach(_ bytes: [UInt8], _ isReachable: Bool)
    {
        #expect(HostAddress.isReachable(bytes) == isReachable)
    }

    @Test func whatItFindsCanBeInALink() {
        if let host = HostAddress.best() { #expect(TransferLink(host: host, port: 1) != nil) }
    }
}
