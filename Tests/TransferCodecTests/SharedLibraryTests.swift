import CISAL
import CXXHash
import Testing
import TransferSystem

@testable import TransferCodec

/// Libraries that are opened at run time are used only if they work like the linked ones. The tests examine the
/// installed ones, and some that differ in one point.
@Suite struct SharedLibraryTests {
    @Test func theInstalledOnesDoAsTheLinkedOnes() {
        for (file, refusal) in SharedLibraries.open() { #expect(refusal == .absent, "\(file)") }
    }

    // MARK: xxHash

    @Test func theLinkedFunctionsAreTaken() throws {
        try XXHash.examine(cxxhash_linked())
    }

    @Test(arguments: [0, 704, 799, 10_000, .max] as [UInt32]) func otherVersionsOfXXHash(_ version: UInt32) {
        var functions = cxxhash_linked()
        functions.version = version
        expectUnfit("version") { try XXHash.examine(functions) }
    }

    @Test func digestsThatAreWrong() {
        var functions = cxxhash_linked()
        functions.update = { state, bytes, count in XXH3_128bits_update(state, bytes, count == 2731 ? 2730 : count) }
        expectUnfit("4096 bytes") { try XXHash.examine(functions) }
        functions = cxxhash_linked()
        functions.digest = { XXH128_hash_t(low64: XXH3_128bits_digest($0).low64, high64: 0) }
        expectUnfit("0 bytes") { try XXHash.examine(functions) }
        functions = cxxhash_linked()
        functions.create = { nil }
        expectUnfit("memory") { try XXHash.examine(functions) }
    }

    // MARK: ISA-L

    #if arch(x86_64)
        private static let installed: cisal_library? = {
            var functions = cisal_library()
            return cisal_open(ISALibrary.fileName, &functions) ? functions : nil
        }()

        @Test func aLibraryThatDoesNothing() throws {
            var functions = cisal_library()
            functions.deflate_init = { _ in }
            functions.deflate_reset = { _ in }
            functions.deflate = { _ in 0 }
            functions.inflate_init = { _ in }
            functions.inflate_reset = { _ in }
            functions.inflate = { _ in 0 }
            expectUnfit("zlib") { _ = try ISALibrary(functions) }
        }

        @Test func moreThanIsTriedAtAStart() throws {
            guard let functions = Self.installed else { return print("skipped: ISA-L is not installed") }
            try ISALTrial(ISALibrary(functions)).run([2, 15, 255, 20_000, 70_001, 300_000])
        }

        /// The content is changed in one of the two directions.
        @Test func wrongStreams() throws {
            guard var functions = Self.installed else { return print("skipped: ISA-L is not installed") }
            functions.deflate = { stream in
                let status = SharedLibraryTests.installed?.deflate(stream) ?? -1
                if let stream, stream.pointee.total_out > 1000 { stream.pointee.next_out[-1] ^= 1 }
                return status
            }
            expectUnfit("zlib") { _ = try ISALibrary(functions) }
            functions = Self.installed ?? functions
            functions.inflate = { state in
                let status = SharedLibraryTests.installed?.inflate(state) ?? -1
                if let state, state.pointee.total_out == 300 { state.pointee.next_out[-1] ^= 1 }
                return status
            }
            expectUnfit("zlib") { _ = try ISALibrary(functions) }
        }

        /// The library writes one byte behind the structure of the header.
        @Test func largerStructures() throws {
            guard var functions = Self.installed else { return print("skipped: ISA-L is not installed") }
            functions.deflate_init = { stream in
                SharedLibraryTests.installed?.deflate_init(stream)
                stream.map { UnsafeMutableRawPointer($0 + 1).storeBytes(of: 1, as: UInt8.self) }
            }
            expectUnfit("room") { _ = try ISALibrary(functions) }
            functions = Self.installed ?? functions
            functions.inflate_init = { state in
                SharedLibraryTests.installed?.inflate_init(state)
                state.map { UnsafeMutableRawPointer($0 + 1).storeBytes(of: 1, as: UInt8.self) }
            }
            expectUnfit("room") { _ = try ISALibrary(functions) }
        }
    #endif

    private func expectUnfit(
        _ words: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
    ) {
        let refusal = #expect(throws: LibraryRefusal.self, sourceLocation: sourceLocation, performing: body)
        guard case .unfit(let reason)? = refusal else { return }
        #expect(reason.contains(words), "\(reason)", sourceLocation: sourceLocation)
    }
}
