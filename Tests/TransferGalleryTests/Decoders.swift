import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferGallery

/// Helpers in the process of the tests, whose decoders are other programs.
enum Decoders {
    /// Path of a program that was built beside the tests.
    static func probe() throws -> String {
        let resolved = try #require(realpath("/proc/self/exe", nil))
        defer { free(resolved) }
        let folder = String(cString: resolved).split(separator: "/").dropLast().joined(separator: "/")
        return "/\(folder)/SandboxProbe"
    }

    /// Starts a helper on a thread.
    ///
    /// - Parameter program: runs in place of a decoder.
    static func helper(
        _ program: [String], patience: Int64 = DecoderHelper.patience
    ) throws -> DescriptorChannel {
        let (own, other) = try DescriptorChannel.pair()
        _ = TestThread {
            var helper = DecoderHelper(other, program: program, environment: [], patience: patience)
            helper.serve()
        }
        return own
    }

    /// A helper whose decoders write these bytes as their report.
    static func helper(reporting report: [UInt8], in folder: TemporaryDirectory) throws -> DescriptorChannel {
        let path = folder.path("report")
        try #require(writeFile(report, to: path))
        return try helper(["/bin/cat", path])
    }

    /// A helper whose decoders run a script of the shell.
    static func helper(script: String) throws -> DescriptorChannel { try helper(["/bin/sh", "-c", script]) }
}

/// - Returns: whether all bytes are written.
func writeFile(_ bytes: [UInt8], to path: String) -> Bool {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { return false }
    defer { close(file) }
    return (try? writeAll(bytes, to: file)) != nil
}
