import Testing
import TransferModel

@testable import TransferClient

@Suite struct LaneAllowanceTests {
    private func allowance(
        _ lanes: ClientConfiguration.Lanes, cores: Int, _ security: ClientConfiguration.Security
    ) -> LaneAllowance {
        var configuration = ClientConfiguration()
        configuration.lanes = lanes
        configuration.security = security
        return configuration.laneAllowance(cores: cores)
    }

    @Test(arguments: [(1, 1, 1), (2, 4, 2), (3, 4, 3), (4, 4, 4), (64, 4, 4)])
    func encryptedOneForEachCoreAtFirst(cores: Int, most: Int, prompt: Int) {
        #expect(allowance(.auto, cores: cores, .tls(ServerTrust())) == LaneAllowance(most: most, prompt: prompt))
        #expect(allowance(.auto, cores: cores, .plaintext) == LaneAllowance(most: most, prompt: most))
    }

    @Test(arguments: [(-1, 1), (1, 1), (3, 3), (16, 16), (17, 16)]) func asManyAsAskedFor(wanted: Int, count: Int) {
        #expect(allowance(.fixed(wanted), cores: 1, .tls(ServerTrust())) == LaneAllowance(most: count, prompt: count))
    }

    @Test func patience() {
        let allowance = LaneAllowance(most: 4, prompt: 2)
        #expect(allowance.lanes(after: .seconds(0)) == 2 && allowance.lanes(after: .seconds(1.9)) == 2)
        #expect(allowance.lanes(after: LaneAllowance.patience) == 4 && allowance.lanes(after: .seconds(3600)) == 4)
    }
}
