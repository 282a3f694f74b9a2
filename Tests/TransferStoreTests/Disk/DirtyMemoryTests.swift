import Testing

import TransferPorts
@testable import TransferStore

@Suite struct DirtyMemoryTests {
    @Test(
        arguments: [
            ("MemFree: 1 kB\nDirty:              3 kB\nWriteback:         4 kB\nWritebackTmp: 9 kB\n", 7 << 10),
            ("x\nDirty: 0 kB\nWriteback: 0 kB\n", 0),
            ("x\nDirty: 18014398509481 kB\nWriteback: 1 kB", 18_014_398_509_482 << 10),
            ("x\nDirty: 3 kB\nWritebackTmp: 9 kB\n", nil), ("x\nWriteback: 3 kB\n", nil), ("", nil),
        ] as [(String, UInt64?)])
    func isFound(_ text: String, bytes: UInt64?) {
        #expect(text.withCString { DirtyMemory.bytes(in: $0) } == bytes)
    }

    @Test func thisKernelTells() throws {
        let memory = try #require(DirtyMemory())
        for _ in 0..<2 { #expect(try #require(memory.bytes).isMultiple(of: 1024)) }
    }
}
