import Testing
import TransferIO
import TransferProtocol

@testable import TransferClient

@Suite struct ClientTimeoutsTests {
    /// Who tries for some seconds only is not kept waiting for longer by a server that says nothing at all.
    @Test(arguments: [(60, 10), (10, 10), (5, 5), (3, 3), (0.5, 3), (0, 10)] as [(Double, Double)])
    func theFirstTryIsNoLongerThanAll(_ retryFor: Double, _ handshake: Double) {
        var configuration = ClientConfiguration()
        configuration.retryFor = retryFor
        #expect(configuration.timeouts.handshake == .seconds(handshake))
        configuration.handshakeTimeout = 2
        #expect(configuration.timeouts.handshake == .seconds(2))
    }
}
