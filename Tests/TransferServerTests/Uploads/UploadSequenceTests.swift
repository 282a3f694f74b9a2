import Testing
import TransferModel
import TransferServer
import TransferTestSupport

extension ServerTests {
    /// Steps of uploads in any order, with any numbers.
    @Suite struct UploadSequenceTests {
        /// Three servers, one after the other, know the uploads from memory, forget them as soon as they have no
        /// connection, or know only their files.
        @Test(arguments: 0..<12 as Range<UInt64>) func everyStepIsAnswered(_ seed: UInt64) async throws {
            let directory = try TemporaryDirectory()
            let ids = (1...2).map { UploadID(high: seed, low: $0) }
            for run in 0..<3 as Range<UInt64> {
                try await serving(
                    {
                        if run == 1 { $0.keepParts = .milliseconds(0) }
                    }, in: directory
                ) { server in
                    var walk = UploadWalk(server, ids, seed: seed << 8 | run)
                    for _ in 0..<60 { try walk.step() }
                    try server.checkServes()
                }
            }
        }
    }
}
