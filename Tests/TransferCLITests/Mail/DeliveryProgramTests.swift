import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

@Suite struct DeliveryProgramTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private func program(_ body: String) throws -> DeliveryProgram {
        let path = here.path("program")
        try writeFile(path, "#!/bin/sh\n\(body)\n".utf8)
        chmod(path, 0o755)
        return DeliveryProgram(path)
    }

    @Test func itReadsTheLine() async throws {
        let copy = here.path("copy")
        #expect(try await program("cat > \(copy); echo $# >> \(copy)").run("{\"a\":1}") == nil)
        #expect(try String(decoding: readFile(copy), as: UTF8.self) == "{\"a\":1}\n0\n")
    }

    @Test func failuresAreSaid() async throws {
        #expect(try await program("exit 3").run("x")?.hasSuffix("ended with the code 3") ?? false)
        #expect(try await program("kill -TERM $$").run("x")?.hasSuffix("ended by the signal 15") ?? false)
        let missing = await DeliveryProgram(here.path("none")).run("x")
        #expect(missing?.contains("could not be run") ?? false)
    }

    /// The input exceeds a pipe's capacity, and the program reads none of it.
    @Test func whoReadsNothingKeepsNobodyWaiting() async throws {
        #expect(try await program("exit 0").run(String(repeating: "x", count: 1 << 20)) == nil)
    }
}
