import TransferPorts
import TransferModel

@testable import TransferStore

extension StagedFile {
    /// Runs a survey to its end.
    func digestBlocks(
        of total: UInt64?, _ function: DigestFunction, threads: Int, found: ([SurveyedBlock]) -> Void
    ) throws(Failure) {
        var survey = try survey(of: total, function)
        while let blocks = try survey.step(threads: threads) { found(blocks) }
    }
}
