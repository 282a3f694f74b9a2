import Testing
import TransferCodec
import TransferSystem

@Suite struct CompressionEngineTests {
    @Test func zlibIsAlwaysThere() {
        #expect(CompressionEngine.zlib.isAvailable)
        #expect(CompressionEngine.available.contains(.zlib))
    }

    @Test func automaticIsOneThatIsThere() {
        #expect(CompressionEngine.automatic.isAvailable)
        #expect((CompressionEngine.automatic == .isal) == CompressionEngine.isal.isAvailable)
    }

    @Test(arguments: ["libtransfer-has-no-such-library.so.2", "libc.so.6"])
    func noLibraryWithoutTheFunctions(path: String) {
        #expect(throws: LibraryRefusal.absent) { try ISALibrary(path: path) }
    }

    @Test func zlibIsTheReference() throws {
        let content = Sample.text(100_000)
        for level in -1...9 {
            let deflater = Deflater(level: level, engine: .zlib)
            #expect(try Zlib.deflate(content, with: deflater) == Zlib.compress(content, level: Int32(level)))
        }
    }
}
