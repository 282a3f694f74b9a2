import Glibc
import Testing
import TransferKeys
import TransferTestSupport

/// Checks receipts of the real program with the commands that `docs/reference/receipts.md` tells readers to type.
@Suite(.ownThreads) struct ByHandTests {
    @Test func theLinesInTheDocumentVerifyReceipts() throws {
        guard let missing = try Self.missingTool() else { return try check() }
        print("Receipts were not checked by hand: there is no \(missing).")
    }

    private func check() throws {
        let (pushed, delivered) = (try Pushed(), try Delivered())
        let script = try Self.script()
        #expect(script.contains("pkeyutl -verify"))
        for (lines, key) in [
            (try pushed.lines, pushed.fingerprint), (try delivered.lines, delivered.key.key.fingerprint),
        ] {
            let fingerprint = key.split(separator: ":").last ?? ""
            for line in lines {
                let (end, output) = try Self.run(script, on: line, in: pushed.home)
                #expect(end == .exited(0), "\(output)")
                #expect(output.contains("Signature Verified Successfully") && output.contains(fingerprint))
            }
        }
        let changes = [
            ("\"version\":1,", "\"version\":2,"), ("\"index\":", "\"index\":1"), ("\"a", "\"b"),
            ("\"delivery\":", "\"uploadID\":"),
        ]
        for line in [try #require(pushed.lines.first), try #require(delivered.lines.first)] {
            for (before, after) in changes {
                let parts = line.split(separator: before, maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { continue }
                let (end, _) = try Self.run(script, on: parts.joined(separator: after)[...], in: pushed.home)
                #expect(end != .exited(0), "\(before) became \(after)")
            }
        }
    }

    /// All code blocks below the heading, in order.
    private static func script() throws -> String {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let document = try String(decoding: readFile("/\(root)/docs/reference/receipts.md"), as: UTF8.self)
        let section = document.split(separator: "\n## By hand\n").last ?? ""
        return section.split(separator: "```bash\n").dropFirst().map { $0.split(separator: "```")[0] }.joined()
    }

    private static func run(
        _ script: String, on line: Substring, in home: TemporaryDirectory
    ) throws -> (Program.End, String) {
        try writeFile(home.path("receipts.jsonl"), "\(line)\n".utf8)
        var surroundings = Surroundings()
        surroundings.executable = "/bin/bash"
        surroundings.directory = home.path
        let program = try Program(["-euo", "pipefail", "-c", script], surroundings)
        let end = try program.wait()
        return (end, program.outputText + program.errorText)
    }

    /// The first tool that the commands need and this machine lacks. An OpenSSL before 3.0 cannot verify Ed25519
    /// signatures of files.
    private static func missingTool() throws -> String? {
        guard access("/bin/bash", X_OK) == 0 else { return "bash" }
        guard access("/usr/bin/openssl", X_OK) == 0 || access("/bin/openssl", X_OK) == 0 else { return "openssl" }
        var surroundings = Surroundings()
        surroundings.executable = "/bin/bash"
        let program = try Program(["-c", "openssl version"], surroundings)
        _ = try program.wait()
        return program.outputText.hasPrefix("OpenSSL 3") ? nil : "OpenSSL 3"
    }
}
