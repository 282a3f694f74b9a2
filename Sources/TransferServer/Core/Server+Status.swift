import TransferIO
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

extension Server {
    /// Makes the socket, while that can still be done. A server that cannot tell how it is still serves.
    func bindStatusSocket() {
        guard core.configuration.tellsStatus else { return }
        do throws(SystemError) {
            statusSocket = try StatusSocket.bind(in: core.folders.own)
        } catch {
            core.observability.log.write([.noStatus(error)])
        }
    }

    /// Answers from now on.
    func tellStatus() {
        do throws(SystemError) {
            try statusSocket?.serve { [weak core] in core.map { $0.status().json.text + "\n" } ?? "" }
        } catch {
            core.observability.log.write([.noStatus(error)])
        }
    }
}
