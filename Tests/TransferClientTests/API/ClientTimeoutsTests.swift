import Testing
import TransferIO
import TransferProtocol

@testable import TransferClient

@Suite struct ClientTimeoutsTests {
    /// A caller that limits the retries to some seconds does not wait longer for a server that never answers.
    @Test(arguments: [(60, 10), (10, 10), (5, 5), (3, 3), (0.5, 3), (0, 10)] as [(Double, Double)])
    func theFirstTryIsNoLongerThanAll(_ retryFor: Double, _ handshake: Double) {
        var configuration = ClientConfiguration()
        configuration.retryFor = retryFor
        #expect(configuration.timeouts.handshake == .seconds(handshake))
        configuration.handshakeTimeout = 2
        #expect(configuration.timeouts.handshake == .seconds(2))
    }
}
